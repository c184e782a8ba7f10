-- Days of messages in Spark's SQL; names in double braces are tables. A sum that 64 bits do not hold is 0: an overflow would end the query,
-- at this batch for ever.

-- name: final
-- The attempt that counts of each message: parsed > empty > parked > diverted, then the last.
select day, id, last.*
from (
    select
        day, id,
        max_by(
            struct(outcome, reason, events, parse_us, inflated_bytes, output_bytes),
            struct(array_position(array{outcomes}, outcome), attempt)
        ) as last
    from {{parsed}} group by day, id
)

-- name: daily
with final as (
    {final}
), message as (
    select
        received.*, final.* except (day, id),
        -- The lags of a device whose clock is in year 1 would have no room in 64 bits within a day.
        case when end_ms between {millis_min} and {millis_max} then end_ms end as known_end_ms,
        least(greatest(received_ms - known_end_ms, 0), {lag_ms_max}) as lag_ms
    from {{received}} as received left join final using (day, id)
)
select
    day, device_id, stream,
    count(*) as messages,
    coalesce(try_sum(body_bytes), 0) as body_bytes,
    max(body_bytes) as body_bytes_max,
    count_if(by_reference) as by_reference,
    min(received_ms) as first_received_ms,
    max(received_ms) as last_received_ms,
    count(known_end_ms) as lag_messages,
    coalesce(try_sum(lag_ms), 0) as lag_ms_sum,
    coalesce(max(lag_ms), 0) as lag_ms_max,
    count_if(lag_ms > {late_ms}) as late_messages,
    count_if(outcome = 'parsed') as parsed,
    count_if(outcome = 'empty') as empty,
    count_if(outcome = 'parked') as parked,
    count_if(outcome = 'parked' and reason = 'malformed') as malformed,
    coalesce(try_sum(events), 0) as events,
    coalesce(try_sum(parse_us), 0) as parse_us_sum,
    coalesce(max(parse_us), 0) as parse_us_max,
    coalesce(try_sum(case when inflated_bytes > 0 then body_bytes end), 0) as parsed_body_bytes,
    coalesce(try_sum(inflated_bytes), 0) as inflated_bytes,
    coalesce(try_sum(output_bytes), 0) as output_bytes,
    max_by(device_type, struct(received_ms, source_partition, source_offset)) as device_type,
    max_by(firmware, struct(received_ms, source_partition, source_offset)) as firmware,
    max_by(via, struct(received_ms, source_partition, source_offset)) as via,
    max(case when via is null then received_ms end) as heard_ms,
    max(case when via is not null then received_ms end) as gateway_ms
from message group by day, device_id, stream

-- name: hourly
-- What was made up is in no hour.
with final as (
    {final}
), by_device as (
    select
        day, stream, device_id,
        try_subtract(received_ms, pmod(received_ms, {hour_ms})) as hour_ms,
        bool_or(via is null) as itself,
        count(*) as messages,
        count_if(outcome = 'parsed') as parsed,
        count_if(outcome = 'empty') as empty,
        count_if(outcome = 'parked') as parked
    from {{received}} left join final using (day, id)
    where source_topic != '{made_up}'
        and try_subtract(received_ms, pmod(received_ms, {hour_ms})) <= :closed_ms
    group by day, stream, device_id, hour_ms
)
select
    day, hour_ms, stream,
    count_if(itself) as devices,
    count_if(not itself) as through_gateway,
    sum(messages) as messages,
    sum(parsed) as parsed,
    sum(empty) as empty,
    sum(parked) as parked
from by_device group by day, hour_ms, stream
