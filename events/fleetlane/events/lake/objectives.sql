with objectives as (
    select * from (values {objectives}) as given(stream, objective, limit_ms)
), attempts as (
    select
        id,
        min(case when outcome in ('parsed', 'empty') then parsed_ms end) as done_ms,
        max(case when outcome = 'parsed' then 1 else 0 end) as has_events,
        max(case when outcome = 'parked' then 1 else 0 end) as was_parked,
        coalesce(sum(parse_us), 0) / 1000 as parser_ms
    from {parsed}
    where coalesce(revision, 0) = 0 and stream in (select stream from objectives) group by id
), kept as (
    select raw_id as id, max(lake_ms) as kept_ms, max(revision) as revision
    from {events} where lake_ms is not null group by raw_id
), messages as (
    select
        day,
        received_ms - received_ms % 3600000 as hour_ms,
        stream,
        objective,
        limit_ms,
        received_ms,
        coalesce(landed_ms, received_ms) as landed_ms,
        done_ms,
        coalesce(parser_ms, 0) as parser_ms,
        case objective when 'lake' then kept_ms else done_ms end as reached_ms,
        (select max(received_ms) from {received}) as latest_ms
    from {received} as received
    join objectives using (stream)
    left join attempts using (id)
    left join kept using (id)
    where source_topic <> '{made_up}'
        and (done_ms is not null or coalesce(was_parked, 0) = 0)
        and (objective <> 'lake' or done_ms is null or has_events = 1)
        and (objective <> 'lake' or coalesce(kept.revision, 0) = 0)
), hops as (
    select
        *,
        coalesce(reached_ms, latest_ms) - received_ms > limit_ms as is_late,
        landed_ms - received_ms as door_ms,
        coalesce(done_ms, latest_ms) - landed_ms - parser_ms as kafka_ms,
        case when objective = 'lake' and done_ms is not null
            then coalesce(reached_ms, latest_ms) - done_ms else 0 end as lake_ms
    from messages
    where reached_ms is not null or latest_ms - received_ms > limit_ms
), judged as (
    select
        *,
        case when not is_late then '' else
            case greatest(door_ms, kafka_ms, parser_ms, lake_ms)
                when parser_ms then 'parser'
                when lake_ms then 'lake'
                when door_ms then 'door'
                else 'kafka'
            end
        end as late_by
    from hops
)
select
    day, hour_ms, stream, objective,
    max(limit_ms) as limit_ms,
    count(*) as messages,
    count(case when is_late then 1 end) as late,
    count(case when late_by = 'door' then 1 end) as late_by_door,
    count(case when late_by = 'kafka' then 1 end) as late_by_kafka,
    count(case when late_by = 'parser' then 1 end) as late_by_parser,
    count(case when late_by = 'lake' then 1 end) as late_by_lake
from judged
group by day, hour_ms, stream, objective
