-- name: message_rows
with found as (
    select 'received' as name, stream, day, 0 as revision, received_ms as at_ms
    from stored_received where id = $raw_id
    union all
    select 'parsed', stream, day, coalesce(revision, 0), parsed_ms
    from stored_parsed where id = $raw_id
    union all
    select 'events', stream, day, revision, lake_ms from stored_events where raw_id = $raw_id
    union all
    select 'parked', stream, day, 0, parked_ms from stored_parked where id = $raw_id
    union all
    select 'repeats', stream, day, revision, lake_ms from stored_repeats where raw_id = $raw_id
)
select name, stream, revision, min(day) as first_day, max(day) as last_day, max(at_ms) as last_ms,
    count(*) as rows
from found
group by name, stream, revision
order by list_position(['received', 'parsed', 'events', 'parked', 'repeats'], name), stream, revision
