-- name: open
set timezone = 'UTC';
-- What stands on the right in a join is kept: DuckDB guesses how many rows are left of a file, and would keep the larger side.
set disabled_optimizers = 'join_order,build_side_probe_side';
-- Most of what the process then has.
set memory_limit = '1500MB';
set temp_directory = $folder

-- name: read
-- A file, as DuckDB reads a million lines of it in a fifth of a second, and takes values of Python's apart one by one. No name of a device, type or gateway has a comma.
create table registered as from read_csv(
    $path, header = false, auto_detect = false, delim = ',', quote = '', escape = '',
    columns = {{
        'device_id': 'varchar', 'device_type': 'varchar', 'status': 'varchar',
        'gateway_id': 'varchar', 'registered_ms': 'bigint'
    }}
) where {of_fleet}

-- name: count
set variable registered = (select count(*)::bigint from registered)

-- name: received_columns
-- Times of no calendar count as undeclared: computing with them fails for the whole fleet.
* replace (
    case when start_ms between {first_ms} and {last_ms} then start_ms end as start_ms,
    case when end_ms between {first_ms} and {last_ms} then end_ms end as end_ms
)

-- name: arrivals
-- By the first of an order, as DuckDB then opens no part of a file whose statistics say that it has none.
select
    (
        select first_received_ms from daily where first_received_ms <= $asked_at_ms
        order by first_received_ms limit 1
    ),
    (
        select last_received_ms from daily where first_received_ms <= $asked_at_ms
        order by last_received_ms desc limit 1
    )

-- name: outcomes
select count(distinct id) filter (source_topic != $made_up)
    * (count(distinct id) <= (select sum(parsed + empty + parked) from daily))::int
from parsed where outcome in ('parsed', 'empty', 'parked')
