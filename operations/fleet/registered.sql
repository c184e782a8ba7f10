-- name: open
set timezone = 'UTC';
-- DuckDB takes a dataset of Arrow's for small, and would keep all of it in memory to join it. So what stands on the right in a join is kept.
set disabled_optimizers = 'join_order,build_side_probe_side';
create table registering (
    device_id varchar, device_type varchar, status varchar, gateway_id varchar, registered_ms bigint
)

-- name: add
insert into registering select
    unnest($device_id::varchar[]), unnest($device_type::varchar[]), unnest($status::varchar[]),
    unnest($gateway_id::varchar[]), unnest($registered_ms::bigint[])

-- name: close
alter table registering rename to registered
