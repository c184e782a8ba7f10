-- Messages of some hours and what became of them, in Spark's SQL; names in double braces are rows of the lake, and positions of Kafka's.

-- name: no_archive
select
    '' as id, '' as sha256, '' as stream, '' as lane, 1 as attempt, 0L as arrival_ms, 0L as kafka_ms,
    '' as topic, 0 as partition, 0L as offset
where false

-- name: judged
with archived as (
    select
        id, sha256,
        try_subtract(arrival_ms, pmod(arrival_ms, {hour_ms})) as hour_ms,
        coalesce(max(case when attempt = 1 then stream end), max(stream)) as stream,
        coalesce(max(case when attempt = 1 then lane end), max(lane)) as lane,
        min(arrival_ms) as arrival_ms,
        count_if(attempt = 1) as landings,
        max_by(struct(topic, partition, offset), struct(attempt, kafka_ms, offset)) as latest
    from {{raw}} group by id, sha256, hour_ms
), known as (
    -- All messages: of the archive, and those that are in `received` alone.
    select *, greatest(1, size(collect_set(sha256) over (partition by id))) as bodies
    from (
        select * from archived
        union all
        select
            id, cast(null as string),
            try_subtract(received_ms, pmod(received_ms, {hour_ms})),
            stream, lane, received_ms, 1L,
            struct(source_topic as topic, source_partition as partition, source_offset as offset)
        from {{received}} left anti join {{raw}} using (id)
    )
), attempts as (
    select
        id, read_sha256,
        max(struct(
            array_position(array{outcomes}, outcome) as rank,
            coalesce(revision, 0) as revision, attempt, outcome, events, parser,
            source_topic as topic, source_partition as partition, source_offset as offset
        )) as best
    from {{parsed}} left join (select topic, partition, offset, sha256 as read_sha256 from {{raw}})
        on source_topic = topic and source_partition = partition and source_offset = offset
    group by id, read_sha256
), attempted as (
    -- With the best attempt at these bytes, null if there is none. An attempt belongs to the bytes of the raw record that it read. Where
    -- that is not known, it counts for the only body of its id.
    select
        known.id, sha256, hour_ms,
        first(stream) as stream,
        first(lane) as lane,
        first(arrival_ms) as arrival_ms,
        first(landings) as landings,
        first(latest) as latest,
        first(bodies) as bodies,
        max(best) as best
    from known left join attempts
        on known.id = attempts.id
        and (sha256 is null or read_sha256 = sha256 or (read_sha256 is null and bodies = 1))
    group by known.id, sha256, hour_ms
), decided as (
    -- With the raw record whose offset decides: that of the best attempt if it is final, else the latest that is known.
    select
        *,
        best.outcome != 'diverted' as is_final,
        coalesce(
            case when is_final then struct(best.topic, best.partition, best.offset) end, latest
        ) as decides
    from attempted
), kept_event as (
    select raw_id, revision, count(distinct id) as kept_events, collect_set(parser) as kept_by
    from {{events}} group by raw_id, revision
), newest_event as (
    select raw_id, max(revision) as newest from {{events}} group by raw_id
), copy as (
    select id, attempt, collect_set(parked_from) as parked_from from {{parked}} group by id, attempt
), no_message as (
    select distinct parked_from from {{parked}} where reason = '{no_message}'
), placed as (
    -- With the events kept of the attempt's revision, the last revision kept, where the parked copies came from, and how far Kafka's
    -- readers are in the partition that decides. All events must be there of streams that are counted, unless another parser's took their
    -- place.
    select /*+ broadcast(no_message, position) */
        decided.*, newest, coalesce(kept_events, 0) as there, copy.parked_from,
        no_message.parked_from is not null as is_no_message,
        begins, passed, kept, archived,
        array_contains(cast(:counted_streams as array<string>), stream)
            and not coalesce(exists(kept_by, one -> one != best.parser), false) as is_counted
    from decided
        left join kept_event on kept_event.raw_id = decided.id and kept_event.revision = best.revision
        left join newest_event on newest_event.raw_id = decided.id
        left join copy on copy.id = decided.id and copy.attempt = best.attempt
        left join no_message
            on no_message.parked_from = concat_ws('/', latest.topic, latest.partition, latest.offset)
        left join {{positions}} as position
            on position.topic = decides.topic and position.partition = decides.partition
), judged as (
    -- `part` is what the lake lacks of a message with a final outcome, null if nothing. `why` one without is missing; null while it waits.
    -- A record that its lane has not read yet waits as long as it is there. One that was read has its outcome in the lake, once that has
    -- all there was then, unless a later attempt's events came. A diverted message whose next record is not known yet is in another topic,
    -- soon in the archive.
    select
        *,
        coalesce(
            bodies = 1 or array_contains(
                parked_from, concat_ws('/', best.topic, best.partition, best.offset)
            ),
            false
        ) and parked_from is not null as is_parked,
        case
            when best.outcome = 'parked' and not is_parked then 'parked, but not in the lake'
            when best.outcome = 'parsed' and is_counted and there < best.events then
                format_string('parsed to %s events, of which %s are in the lake', best.events, there)
        end as part,
        decides.offset < coalesce(passed, 0) as is_read,
        not is_read and decides.offset < coalesce(begins, 0) as is_gone,
        case
            when :has_archive then decides.offset >= coalesce(archived, 0)
            else arrival_ms > :now_ms - {next_attempt_ms_max}
        end as is_looked_for,
        coalesce(best.outcome = 'diverted', false) as is_diverted,
        decides.offset < coalesce(if(newest > best.revision, 0, kept), 0) as is_settled,
        case
            when is_gone then 'its record was deleted before its lane read it'
            when not is_settled or (is_diverted and is_looked_for) then null
            when is_diverted then 'diverted, and in no topic any more'
            else 'its lane read it, and nothing came of it'
        end as why
    from placed
)
select
    id, sha256, stream, lane, hour_ms, arrival_ms, landings,
    case
        when best is null and is_no_message then 'parked'
        when is_final and part is null then best.outcome
        when why is null then '{waiting}'
        else '{missing}'
    end as `end`,
    case when `end` = '{missing}' then coalesce(part, why) end as problem
from judged
