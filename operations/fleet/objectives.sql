-- name: objectives
with counted as (
    select stream, objective, hour_ms, limit_ms, messages, late,
        late_by_door, late_by_kafka, late_by_parser, late_by_lake
    from objectives where day >= $since_day
), hours as (
    from counted
    union all by name
    select * exclude (day) from ({live}) as live
    anti join counted using (stream, objective, hour_ms)
), wanted as (
    select stream, share::double as share from (values {shares}) as given(stream, share)
), windows as (
    select unnest([1, 24, 672]) as hours
), summed as (
    select
        stream, objective, windows.hours, share,
        arg_max(limit_ms, hour_ms) as limit_ms,
        sum(messages)::bigint as messages,
        sum(late)::bigint as late,
        sum(late_by_door)::bigint as door,
        sum(late_by_kafka)::bigint as kafka,
        sum(late_by_parser)::bigint as parser,
        sum(late_by_lake)::bigint as lake
    from hours join wanted using (stream) cross join windows
    where hour_ms + {hour_ms} > $asked_at_ms - windows.hours::bigint * {hour_ms}
        and hour_ms <= $asked_at_ms
        and ($stream is null or stream = $stream)
    group by stream, objective, windows.hours, share
)
select
    stream, objective, limit_ms, share, hours, messages, late,
    late / nullif(messages, 0) / (1 - share) as burn,
    1 - burn as budget_left,
    case when late > 0 then
        case greatest(door, kafka, parser, lake)
            when kafka then 'kafka' when door then 'door' when parser then 'parser' else 'lake'
        end
    end as late_by
from summed order by stream, objective, hours
