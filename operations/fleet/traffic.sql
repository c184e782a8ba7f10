-- name: lagging
-- Only of messages that declare no end are the ids looked up: the table of them is what takes room.
with undated as materialized (
    select id, device_id, device_type, via, received_ms
    from received where {in_window} and end_ms is null
), dated as (
    select id, max(last_event_ms) as last_event_ms
    from parsed semi join undated using (id)
    where day >= $since_day and last_event_ms is not null group by id
)
select device_id, device_type, via, received_ms, received_ms - end_ms as lag_ms
from received where {in_window} and end_ms is not null
union all
select device_id, device_type, via, received_ms, received_ms - last_event_ms
from undated join dated using (id)

-- name: late
with chronic as (
    select device_id, count(*) as messages, count(*) filter (lag_ms > $over_ms) as late
    from lags group by device_id
    having messages >= $messages_min and late >= $share_min * messages
)
select
    device_id,
    arg_max(device_type, received_ms) as device_type,
    any_value(chronic.messages) as messages,
    any_value(chronic.late) as late,
    quantile_disc(lag_ms, 0.5)::bigint as median_lag_ms,
    any_value(chronic.late / chronic.messages) as share,
    arg_max_null(via, received_ms) as gateway_id
from lags join chronic using (device_id) group by device_id
order by share desc, median_lag_ms desc, device_id

-- name: sizes
with summed as (
    select
        count(*) as count,
        coalesce(sum(body_bytes), 0)::bigint as total,
        quantile_disc(body_bytes, [0.5, 0.95, 0.99]) as shares,
        max(body_bytes) as max
    from received where {in_window}
)
select count, total, shares[1] as p50, shares[2] as p95, shares[3] as p99, max from summed

-- name: outsized
with usual as (
    select stream, quantile_disc(body_bytes, 0.5) as usual_bytes
    from received where {in_window} group by stream
), senders as (
    select distinct device_id, stream, usual_bytes
    from received join usual using (stream)
    where {in_window} and body_bytes >= greatest($bytes_min, $times_min * usual_bytes)
)
select
    device_id,
    arg_max(device_type, received_ms) as device_type,
    arg_max_null(firmware, received_ms) as firmware,
    stream,
    count(*) as messages,
    count(*) filter (body_bytes >= $times_min * usual_bytes) as outsized,
    max(body_bytes) as largest_bytes,
    any_value(usual_bytes)::bigint as usual_bytes
from received join senders using (device_id, stream)
where {in_window}
group by device_id, stream
order by largest_bytes / greatest(any_value(senders.usual_bytes), 1) desc, device_id, stream
limit $devices_max

-- name: compression
with summed as (
    select
        stream,
        sum(messages)::bigint as messages,
        sum(parsed_body_bytes)::bigint as body_bytes,
        sum(inflated_bytes)::bigint as inflated_bytes,
        sum(output_bytes)::bigint as output_bytes
    from daily where day >= $since_day and first_received_ms <= $asked_at_ms
    group by stream
)
select
    *,
    inflated_bytes / nullif(body_bytes, 0) as ratio,
    output_bytes / nullif(body_bytes, 0) as output_ratio
from summed order by body_bytes desc, stream

-- name: firmware
with failed as (
    select id, arg_max(reason, attempt) as reason
    from parsed where day >= $since_day and outcome = 'parked' group by id
), repaired as (
    select id
    from parsed semi join failed using (id)
    where day >= $since_day and outcome in ('parsed', 'empty')
), parked as (
    select id, reason from failed anti join repaired using (id)
)
select
    firmware,
    count(*) as messages,
    count(*) filter (parked.reason = 'malformed') as malformed,
    count(parked.id) as parked,
    malformed / messages as malformed_share
from received left join parked using (id)
where {in_window}
group by firmware
order by malformed_share desc, messages desc, firmware

-- name: parsers
with ran as (
    select
        parser,
        count(*) as attempts,
        quantile_disc(parse_us, [0.5, 0.95, 0.99]) as shares,
        max(parse_us) as max_us
    from parsed
    where day >= $since_day and parsed_ms > $since_ms and parsed_ms <= $asked_at_ms
        and parser is not null and put_off is null
        and (parse_us > 0 or outcome in ('parsed', 'empty'))
    group by parser
)
select
    parser, attempts, shares[1] as p50_us, shares[2] as p95_us, shares[3] as p99_us, max_us
from ran order by p95_us desc, parser

-- name: histogram
bins as (
    select
        unnest([null] || $bounds::bigint[]) as low,
        unnest($bounds::bigint[] || [null]) as high
)
select
    low, high,
    coalesce(counts[coalesce(high, 9223372036854775807)], 0)::bigint as messages,
    messages / nullif(sum(messages) over (), 0) as share
from bins, counted

-- name: lags
with counted as (select histogram(lag_ms, $bounds::bigint[]) as counts from lags), {histogram}

-- name: bins
with counted as (
    select histogram(body_bytes, $bounds::bigint[]) as counts from received where {in_window}
), {histogram}
