-- Metadata of a fleet over the thirty days before getvariable('now_ms'), as the lake would hold it: 800 devices at five
-- sites, a tenth of them behind their site's gateway, each with a message every two hours. It tells three stories:
-- the site oulu is silent, firmware 2.2.0 sends malformed messages, and lisbon's gateway delivers late.

create table device as
select
    if(number = 0, site || '-gateway', printf('%s-%03d', site, number)) as device_id,
    ['thermo', 'gps', 'weather', 'counters'][1 + number % 4] as stream,
    if(number % 10 = 9, site || '-gateway', null) as gateway_id,
    number,
    case
        when number % 53 = 52 then null  -- registered, and never installed
        when site = 'oulu' then getvariable('now_ms') - 9 * 86400000
        when number % 41 = 40 then getvariable('now_ms') - (8 + number % 9) * 86400000
        else getvariable('now_ms')
    end as last_ms
from (select unnest(['bergen', 'gdansk', 'lisbon', 'oulu', 'turin']) as site), range(160) numbers(number);

create table received as
with drawn as (
    select
        *,
        getvariable('now_ms') - tick * 7200000 - (hash(device_id, tick) % 7200000)::bigint as received_ms,
        (hash(tick, device_id) % 1000)::bigint as chance
    from device, range(360) ticks(tick)
), sent as (
    select
        *,
        case
            when number % 3 = 0 and received_ms > getvariable('now_ms') - 5 * 86400000 then '2.2.0'
            when number % 2 = 0 then '2.1.3'
            else '2.0.8'
        end as firmware,
        if(chance % 10 > 0, gateway_id, null) as via  -- now and then they are in reach themselves
    from drawn where received_ms <= last_ms
)
select
    epoch_ms(received_ms)::date as day,
    printf('1%016x%016x', hash(device_id, received_ms), hash(received_ms, device_id)) as id,
    device_id, stream as device_type, firmware, stream, 'standard' as lane, via,
    getvariable('made_up') as source_topic, 0 as source_partition, row_number() over () as source_offset,
    received_ms,
    (40 * pow(10, chance / 400.0))::bigint as body_bytes,
    false as by_reference,
    if(stream = 'gps', null, end_ms - 7200000) as start_ms,
    if(stream = 'gps', null, end_ms) as end_ms,
    received_ms + 5 as landed_ms,
    chance
from (
    select *, received_ms - if(
        via = 'lisbon-gateway' and received_ms > getvariable('now_ms') - 6 * 86400000,
        5 * 3600000 + chance * 20000,
        chance * chance / 2
    )::bigint as end_ms
    from sent
);

create table parsed as
select
    day, id, 1 as attempt, device_id, stream, lane, source_topic, source_partition, source_offset,
    if(chance < if(firmware = '2.2.0', 180, 2), 'parked', 'parsed') as outcome,
    received_ms + 200 + chance as parsed_ms,
    if(outcome = 'parked', 0, 10) as events,
    (map {'thermo': 30, 'gps': 60, 'weather': 240, 'counters': 120}[stream] * pow(10, hash(id) % 1000 / 900.0))::bigint as parse_us,
    body_bytes * if(stream = 'counters', 4, 1) as inflated_bytes,
    received_ms, 0 as revision,
    if(outcome = 'parked', 'malformed', null) as reason,
    map {'thermo': 'acme-thermo@1.2.0', 'gps': 'json@0.1.0', 'weather': 'csv@0.1.0', 'counters': 'ndjson@0.1.0'}[stream] as parser,
    if(outcome = 'parked', null, start_ms) as first_event_ms,
    if(outcome = 'parked', null, end_ms) as last_event_ms,
    events * 380 as output_bytes
from received;
