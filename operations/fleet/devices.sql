-- name: daily_by_then
-- A day that is over was over by then: its times are not read.
(
    from daily where day < epoch_ms($asked_at_ms)::date
    union all
    from daily where day >= epoch_ms($asked_at_ms)::date and first_received_ms <= $asked_at_ms
) as daily

-- name: received_by_then
-- Likewise: the times of days that are over are not read.
(
    from received where day > $since_day and day < epoch_ms($asked_at_ms)::date
    union all
    from received
    where {in_window} and (day = $since_day or day >= epoch_ms($asked_at_ms)::date)
) as received

-- name: seen_columns
select
    device_id,
    max(coalesce(heard_ms, if(via is null, last_received_ms, null))) as last_ms,
    max(coalesce(gateway_ms, if(via is null, null, last_received_ms))) as gateway_ms

-- name: seen_keys
device_id, device_type, status, gateway_id, registered_ms, last_ms, gateway_ms,
if(last_ms > $asked_at_ms, 0, $asked_at_ms - last_ms) as silent_ms

-- name: coverage
with senders as (
    select device_id, max(received_ms) filter (via is null) as direct_ms, max(received_ms) as any_ms
    from received where {in_window} group by device_id
), fleet as (
    select device_id from registered where status != 'revoked'
), windows as (
    select days, $asked_at_ms - days * {day_ms} as from_ms
    from (select unnest(coalesce($windows::bigint[], [$days::bigint])) as days)
), counted as (
    select
        days,
        (select count(*) from fleet) as registered,
        count(*) filter (fleet.device_id is not null and direct_ms > from_ms) as reported,
        count(*) filter (fleet.device_id is not null and any_ms > from_ms) - reported as through_gateway,
        count(*) filter (fleet.device_id is null and any_ms > from_ms) as unregistered
    from windows left join (senders left join fleet using (device_id)) on true group by days
)
select *, reported / nullif(registered, 0) as share from counted order by days

-- name: by_firmware
-- What one sent before these days is looked up for those alone that declared nothing in them.
with lately as materialized (
    select device_id, arg_max(firmware, last_received_ms) as firmware
    from {daily_by_then} where day >= $since_day group by device_id having count(firmware) > 0
), quiet as materialized (
    from registered anti join lately using (device_id) where status != 'revoked'
), last as (
    from lately
    union all
    select device_id, arg_max(firmware, last_received_ms)
    from {daily_by_then} semi join quiet using (device_id)
    where day < $since_day group by device_id
), heard as (
    select
        device_id,
        bool_or(received_ms > $asked_at_ms - {day_ms}) as lately,
        bool_or(received_ms <= $asked_at_ms - {day_ms}) as before
    from received where {in_window} and via is null group by device_id
), counted as (
    select
        device_type, firmware,
        count(*) as registered,
        count(*) filter (before) as reported_before,
        count(*) filter (lately) as reported
    from registered left join last using (device_id) left join heard using (device_id)
    where status != 'revoked' group by device_type, firmware
)
select *, reported / registered as share, reported - reported_before as change
from counted order by change, registered desc, device_type, firmware

-- name: device
select {seen_keys}
from registered left join (
    {seen_columns}
    from daily
    where first_received_ms <= $asked_at_ms and device_id = $device_id group by device_id
) using (device_id)
where device_id = $device_id

-- name: silent
with quiet as materialized (
    from registered anti join (
        select distinct device_id from received where {in_window} and via is null
    ) using (device_id)
    where status != 'revoked' and registered_ms <= $since_ms
)
select {seen_keys}
from quiet left join (
    {seen_columns}
    from {daily_by_then} semi join quiet using (device_id) group by device_id
) using (device_id)
order by last_ms is null, last_ms desc, device_id

-- name: days
with its as (
    select * from received where {in_window} and device_id = $device_id
), outcomes as (
    select
        id,
        bool_or(outcome = 'parsed') as is_parsed,
        bool_or(outcome = 'empty') as is_empty,
        bool_or(outcome = 'parked') as is_parked
    from parsed where day >= $since_day and device_id = $device_id group by id
)
select
    day,
    stream,
    count(*) as messages,
    sum(body_bytes)::bigint as body_bytes,
    count(via) as through_gateway,
    arg_max(firmware, received_ms) as firmware,
    count(*) filter (is_parsed) as parsed,
    count(*) filter (is_empty and not is_parsed) as empty,
    count(*) filter (is_parked and not is_parsed and not is_empty) as parked,
    max(received_ms) as last_ms
from its left join outcomes using (id)
group by day, stream order by day desc, stream

-- name: gaps
with spans as (
    select device_id, stream, start_ms, end_ms
    from received
    where {in_window} and start_ms <= end_ms
        and ($device_id is null or device_id = $device_id)
), after as (
    select
        device_id, stream, start_ms as to_ms,
        max(end_ms) over (
            partition by device_id, stream order by start_ms
            rows between unbounded preceding and 1 preceding
        ) as from_ms
    from spans
)
select device_id, stream, from_ms, to_ms, to_ms - from_ms as length_ms
from after where length_ms >= $gap_min_ms
order by length_ms desc, device_id, stream, from_ms
limit $gaps_max

-- name: sent_by_number
with fleet as (
    select rowid as number, device_id from registered where status != 'revoked'
), sent as (
    select number, day, received_ms - received_ms % {hour_ms} as hour_ms, via is null as is_direct
    from {received_by_then} join fleet using (device_id)
)

-- name: of_time
-- A bit a device for each time: a row a device and time would take a GB for a million. Direct and
-- relayed ones are gathered apart: a filter in the aggregate takes longer than another group.
bitstring_agg(number, 0, getvariable('registered')) as devices, count(*) as messages

-- name: of_both
bit_or(devices) filter (is_direct) as direct, bit_or(devices) as either, sum(messages)::bigint as messages

-- name: over_time
coalesce(bit_count(direct), 0) as reported,
coalesce(bit_count(either), 0) - reported as through_gateway,
coalesce(messages, 0) as messages

-- name: by_day
{sent_by_number}, apart as (
    select day, is_direct, {of_time} from sent group by day, is_direct
), counted as (
    select day, {of_both} from apart group by day
), times as (
    select unnest(generate_series($since_day, epoch_ms($asked_at_ms)::date, interval 1 day)::date[]) as day
)
select day, {over_time} from times left join counted using (day) order by day

-- name: by_hour
{sent_by_number}, apart as (
    select hour_ms, is_direct, {of_time} from sent group by hour_ms, is_direct
), counted as (
    select hour_ms, {of_both} from apart group by hour_ms
), times as (
    select unnest(generate_series($first_ms - $first_ms % {hour_ms}, $asked_at_ms, {hour_ms})) as hour_ms
)
select hour_ms, {over_time} from times left join counted using (hour_ms) order by hour_ms
