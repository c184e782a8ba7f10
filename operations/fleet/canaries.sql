-- name: canaries
with rules as (
    select rule, use, share::double as share, first, parser
    from (values {rules}) as given(rule, use, share, first, parser)
), ended as (
    select
        id, device_id,
        arg_max(outcome, (attempt, parsed_ms)) as outcome,
        arg_max(parser, (attempt, parsed_ms)) as parser,
        min(parsed_ms) as parsed_ms,
        sum(parse_us) as parse_us,
        max(events) as events
    from parsed
    where stream = $stream and day >= $since_day
        and parsed_ms > $since_ms and parsed_ms <= $asked_at_ms and coalesce(revision, 0) = 0
    group by id, device_id
), sorted as (
    select
        rule, use, share, ended.*, received.device_type, received.firmware,
        sha256(use || ' ' || ended.device_id)[:8] < first as in_share,
        ended.parser like rules.parser as is_its_own
    from ended
    join (
        select id, any_value(device_type) as device_type, any_value(firmware) as firmware
        from received semi join ended using (id) where day >= $since_day group by id
    ) as received using (id)
    cross join rules
), kinds as ( -- of devices that the rule is for, and since when
    select rule, device_type, firmware, min(parsed_ms) as since_ms
    from sorted where in_share and is_its_own group by rule, device_type, firmware
), compared as (
    select
        sorted.rule, use, share,
        min(since_ms) as since_ms,
        count(distinct device_id) filter (in_share) as devices,
        count(*) filter (in_share) as messages,
        count(*) filter (not in_share) as others_messages,
        count(*) filter (in_share and outcome = 'parked') as parked,
        count(*) filter (not in_share and outcome = 'parked') as others_parked,
        coalesce(sum(events) filter (in_share), 0)::bigint as events,
        coalesce(sum(events) filter (not in_share), 0)::bigint as others_events,
        quantile_disc(parse_us, 0.95) filter (in_share)::bigint as p95_us,
        quantile_disc(parse_us, 0.95) filter (not in_share)::bigint as others_p95_us
    from sorted join kinds on sorted.rule = kinds.rule
        and sorted.device_type is not distinct from kinds.device_type
        and sorted.firmware is not distinct from kinds.firmware
        and parsed_ms >= since_ms
    group by all
), figured as (
    select
        rule, use, share, since_ms, devices, messages, others_messages,
        parked / nullif(messages, 0) as parked_share,
        others_parked / nullif(others_messages, 0) as others_parked_share,
        events / nullif(messages - parked, 0) as events_a_message,
        others_events / nullif(others_messages - others_parked, 0) as others_events_a_message,
        p95_us, others_p95_us,
        (parked + others_parked) / (messages + others_messages) as parked_of_all
    from compared
)
select
    * exclude (rule, parked_of_all),
    case
        when messages < $messages_min or others_messages < $messages_min
            then 'wait for more messages'
        -- beyond chance: three standard errors of a difference between two shares
        when parked_share - others_parked_share > 3 * sqrt(
            parked_of_all * (1 - parked_of_all) * (1 / messages + 1 / others_messages)
        ) then 'take it back: it parks more'
        when events_a_message is null
            or abs(events_a_message / nullif(others_events_a_message, 0) - 1) > $differs_by
            then 'look closer: another number of events'
        when p95_us > $slower_times * others_p95_us then 'look closer: it is slower'
        else 'let it have more devices'
    end as proposal
from figured order by rule
