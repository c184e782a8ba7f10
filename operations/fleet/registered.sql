-- name: open
set timezone = 'UTC';
-- DuckDB takes a dataset of Arrow's for small, and would keep all of it in memory to join it. So what stands on the right in a join is kept.
set disabled_optimizers = 'join_order,build_side_probe_side';
create table registering (
    device_id varchar, device_type varchar, status varchar, gateway_id varchar, registered_ms bigint
)

-- name: add
-- Of one text, as no name of a device, type or gateway has a comma or a semicolon: DuckDB takes a list of Python's apart value by value.
insert into registering
with parts as (
    select string_split(unnest(string_split($devices, ';')), ',') as part
), devices as (
    select
        part[1] as device_id, part[2] as device_type, part[3] as status,
        nullif(part[4], '') as gateway_id, part[5]::bigint as registered_ms
    from parts
)
from devices where {of_fleet}

-- name: close
alter table registering rename to registered;
set variable registered = (select count(*)::bigint from registered)
