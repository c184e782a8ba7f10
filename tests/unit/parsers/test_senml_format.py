import json

import pytest

from fleetlane.parsers.contract import MalformedMessage
from fleetlane.parsers.formats.senml import Senml

DEVICE = "urn:dev:ow:10e2073a01080063"
MOVING = [
    (0, "%RH", 20),
    (0, "lon", 24.30621),
    (0, "lat", 60.07965),
    (60, "%RH", 20.3),
    (60, "lon", 24.30622),
    (60, "lat", 60.07965),
    (120, "%RH", 20.7),
    (120, "lon", 24.30623),
    (120, "lat", 60.07966),
    (150, "%EL", 98),
    (180, "%RH", 21.2),
    (180, "lon", 24.30628),
    (180, "lat", 60.07967),
]

# Name: the pack as RFC 8428 prints it, and its records resolved.
RFC_8428: dict[str, tuple[str, list[dict[str, object]]]] = {
    "5.1.1, a single datapoint": (
        """[{"n":"urn:dev:ow:10e2073a01080063","u":"Cel","v":23.1}]""",
        [{"n": DEVICE, "u": "Cel", "v": 23.1}],
    ),
    "5.1.2, two datapoints at no time": (
        """[
          {"bn":"urn:dev:ow:10e2073a01080063:","n":"voltage","u":"V","v":120.1},
          {"n":"current","u":"A","v":1.2}
        ]""",
        [
            {"n": f"{DEVICE}:voltage", "u": "V", "v": 120.1},
            {"n": f"{DEVICE}:current", "u": "A", "v": 1.2},
        ],
    ),
    "5.1.2, the last seconds": (
        """[
          {"bn":"urn:dev:ow:10e2073a0108006:","bt":1.276020076001e+09,
           "bu":"A","bver":5,"n":"voltage","u":"V","v":120.1},
          {"n":"current","t":-5,"v":1.2},
          {"n":"current","t":-4,"v":1.3},
          {"n":"current","t":-3,"v":1.4},
          {"n":"current","t":-2,"v":1.5},
          {"n":"current","t":-1,"v":1.6},
          {"n":"current","v":1.7}
        ]""",
        [
            {
                "n": "urn:dev:ow:10e2073a0108006:voltage",
                "u": "V",
                "v": 120.1,
                "t": 1276020076.001,
                "bver": 5,
            },
            *(
                {
                    "n": "urn:dev:ow:10e2073a0108006:current",
                    "u": "A",
                    "v": amperes,
                    "t": 1276020076.001 + seconds,
                    "bver": 5,
                }
                for seconds, amperes in zip(
                    range(-5, 1), [1.2, 1.3, 1.4, 1.5, 1.6, 1.7], strict=True
                )
            ),
        ],
    ),
    "5.1.3 and 5.1.4, multiple measurements resolved": (
        """[
          {"bn":"urn:dev:ow:10e2073a01080063","bt":1.320067464e+09,"bu":"%RH","v":20},
          {"u":"lon","v":24.30621},
          {"u":"lat","v":60.07965},
          {"t":60,"v":20.3},
          {"u":"lon","t":60,"v":24.30622},
          {"u":"lat","t":60,"v":60.07965},
          {"t":120,"v":20.7},
          {"u":"lon","t":120,"v":24.30623},
          {"u":"lat","t":120,"v":60.07966},
          {"u":"%EL","t":150,"v":98},
          {"t":180,"v":21.2},
          {"u":"lon","t":180,"v":24.30628},
          {"u":"lat","t":180,"v":60.07967}
        ]""",
        [
            {"n": DEVICE, "u": unit, "t": 1.320067464e09 + seconds, "v": value}
            for seconds, unit, value in MOVING
        ],
    ),
    "5.1.5, multiple data types": (
        """[
          {"bn":"urn:dev:ow:10e2073a01080063:","n":"temp","u":"Cel","v":23.1},
          {"n":"label","vs":"Machine Room"},
          {"n":"open","vb":false},
          {"n":"nfc-reader","vd":"aGkgCg"}
        ]""",
        [
            {"n": f"{DEVICE}:temp", "u": "Cel", "v": 23.1},
            {"n": f"{DEVICE}:label", "vs": "Machine Room"},
            {"n": f"{DEVICE}:open", "vb": False},
            {"n": f"{DEVICE}:nfc-reader", "vd": "aGkgCg"},
        ],
    ),
    "5.1.6, a collection of resources": (
        """[
          {"bn":"2001:db8::2/","bt":1.320078429e+09,"n":"temperature","u":"Cel","v":25.2},
          {"n":"humidity","u":"%RH","v":30},
          {"bn":"2001:db8::1/","n":"temperature","u":"Cel","v":12.3},
          {"n":"humidity","u":"%RH","v":67}
        ]""",
        [
            {"n": "2001:db8::2/temperature", "u": "Cel", "t": 1.320078429e09, "v": 25.2},
            {"n": "2001:db8::2/humidity", "u": "%RH", "t": 1.320078429e09, "v": 30},
            {"n": "2001:db8::1/temperature", "u": "Cel", "t": 1.320078429e09, "v": 12.3},
            {"n": "2001:db8::1/humidity", "u": "%RH", "t": 1.320078429e09, "v": 67},
        ],
    ),
    "5.1.7, setting an actuator": (
        """[
          {"bn":"urn:dev:ow:10e2073a01080063:","bt":1.320078429e+09,"bu":"A",
           "n":"dim","u":"/","v":0.5},
          {"n":"dim","u":"/","t":0.1,"v":0}
        ]""",
        [
            {"n": f"{DEVICE}:dim", "u": "/", "t": 1320078429.0, "v": 0.5},
            {"n": f"{DEVICE}:dim", "u": "/", "t": 1320078429.1, "v": 0},
        ],
    ),
}

RULES: dict[str, tuple[list[dict[str, object]], list[dict[str, object]]]] = {
    "a base value": ([{"bv": 20, "n": "a", "v": 1.5}], [{"n": "a", "v": 21.5}]),
    "a base value alone": ([{"bv": 20, "n": "a"}], [{"n": "a", "v": 20}]),
    "a base value is for numbers": ([{"bv": 20, "n": "a", "vs": "x"}], [{"n": "a", "vs": "x"}]),
    "a base value beside a sum": ([{"bv": 20, "n": "a", "s": 1}], [{"n": "a", "s": 1}]),
    "a base sum": ([{"bs": 100, "n": "a", "s": 5}], [{"n": "a", "s": 105}]),
    "a base sum alone": ([{"bs": 100, "n": "a", "v": 1}], [{"n": "a", "v": 1, "s": 100}]),
    "a value and a sum": ([{"n": "a", "v": 1, "s": 2}], [{"n": "a", "v": 1, "s": 2}]),
    "a base that is replaced": (
        [{"bn": "a", "bu": "V", "v": 1}, {"bn": "b", "v": 2}, {"v": 3}],
        [{"n": "a", "u": "V", "v": 1}, {"n": "b", "u": "V", "v": 2}, {"n": "b", "u": "V", "v": 3}],
    ),
    "a base between": (
        [{"n": "a", "v": 1}, {"bu": "V", "n": "b", "v": 2}],
        [{"n": "a", "v": 1}, {"n": "b", "u": "V", "v": 2}],
    ),
    "a time in the past of the sending": (
        [{"n": "a", "t": -5, "v": 1}],
        [{"n": "a", "t_relative": -5, "v": 1}],
    ),
    "a time that is now": ([{"n": "a", "t": 0, "v": 1}], [{"n": "a", "t_relative": 0, "v": 1}]),
    "the latest relative time": (
        [{"n": "a", "t": 2**28 - 1, "v": 1}],
        [{"n": "a", "t_relative": 2**28 - 1, "v": 1}],
    ),
    "the earliest absolute time": (
        [{"bt": 2**28 - 1, "n": "a", "t": 1, "v": 1}],
        [{"n": "a", "t": 2**28, "v": 1}],
    ),
    "an update time": ([{"n": "a", "v": 1, "ut": 60}], [{"n": "a", "v": 1, "ut": 60}]),
    "the version of the RFC": ([{"bver": 10, "n": "a", "v": 1}], [{"n": "a", "v": 1}]),
    "an old version, once": (
        [{"bver": 5, "n": "a", "v": 1}, {"n": "b", "v": 2}],
        [{"n": "a", "v": 1, "bver": 5}, {"n": "b", "v": 2, "bver": 5}],
    ),
    "labels that the RFC has not": (
        [{"n": "a", "v": 1, "acme": {"x": [1]}}, {"n": "b", "v": 2}],
        [{"n": "a", "v": 1, "acme": {"x": [1]}}, {"n": "b", "v": 2}],
    ),
    "64 bits": ([{"n": "a", "v": 2**64 - 1}], [{"n": "a", "v": 2**64 - 1}]),
}

REFUSED = {
    "no JSON": ("[{", "not JSON"),
    "cut": ('[{"n":"a","v":1}', "not JSON"),
    "two packs": ('[{"n":"a","v":1}][]', "not JSON"),
    "an object": ('{"n":"a","v":1}', "the pack is an object; allowed: an array of records"),
    "no record": ("[]", "the pack is an empty array"),
    "a record that is none": ('[{"n":"a","v":1},2]', "record 1: found a number; records are"),
    "a repeated label": ('[{"n":"a","v":1,"v":2}]', "key 'v' is repeated"),
    "no name": ('[{"v":1}]', "record 0: name ''; allowed: letters"),
    "a name that starts ill": ('[{"n":"/a","v":1}]', "name '/a'; allowed"),
    "a name with a blank": ('[{"bn":"a b","v":1}]', "name 'a b'; allowed"),
    "a name with a line end": ('[{"n":"a\\n","v":1}]', "name 'a\\n'; allowed"),
    "a name that is a number": ('[{"n":1,"v":1}]', "'n' is a number; allowed: a string"),
    "a value that is text": ('[{"n":"a","v":"1"}]', "'v' is a string; allowed: a number"),
    "a value that is true": ('[{"n":"a","v":true}]', "'v' is a boolean; allowed: a number"),
    "a value that is null": ('[{"n":"a","v":null}]', "'v' is null; allowed: a number"),
    "a boolean that is a number": ('[{"n":"a","vb":1}]', "'vb' is a number; allowed: a boolean"),
    "a time that is text": ('[{"n":"a","v":1,"t":"1"}]', "'t' is a string; allowed: a number"),
    "no value": ('[{"n":"a","t":1}]', "found no value; allowed: one of v vs vb vd s"),
    "two values": ('[{"n":"a","v":1,"vs":"b"}]', "found v and vs; allowed: one of v vs vb vd"),
    "data in base 64's other letters": ('[{"n":"a","vd":"+/8="}]', "'vd' is '+/8='; allowed"),
    "a label to be understood": ('[{"n":"a","v":1,"x_":2}]', "label 'x_' must be understood"),
    "a newer version": ('[{"bver":11,"n":"a","v":1}]', "'bver' is 11; allowed: 1 to 10"),
    "a broken version": ('[{"bver":9.5,"n":"a","v":1}]', "'bver' is 9.5; allowed: 1 to 10"),
    "two versions": ('[{"bver":5,"n":"a","v":1},{"bver":6,"v":1}]', "is 6, but 5 in the records"),
    "a late version": ('[{"n":"a","v":1},{"bver":5,"v":1}]', "is 5, but 10 in the records"),
    "a number without end": ('[{"n":"a","v":1e999}]', "not JSON"),
    "a sum without end": ('[{"bv":1.7e308,"n":"a","v":1.7e308}]', "'v' and its base value"),
    "a sum beyond 64 bits": ('[{"bs":18446744073709551615,"n":"a","s":1}]', "'s' and its base"),
    "too deep": ('[{"n":"a","v":1,"x":' + "[" * 99 + "]" * 99 + "}]", "nested deeper"),
}


@pytest.mark.parametrize(("pack", "resolved"), RFC_8428.values(), ids=RFC_8428)
def test_the_packs_of_rfc_8428_are_resolved(pack: str, resolved: list[dict[str, object]]) -> None:
    events = list(Senml().parse(pack.encode()))

    assert events == resolved


@pytest.mark.parametrize(("pack", "resolved"), RULES.values(), ids=RULES)
def test_base_values_apply_by_the_rules(
    pack: list[dict[str, object]], resolved: list[dict[str, object]]
) -> None:
    events = list(Senml().parse(json.dumps(pack).encode()))

    assert events == resolved


@pytest.mark.parametrize(("pack", "why"), REFUSED.values(), ids=REFUSED)
def test_what_is_no_senml_is_malformed(pack: str, why: str) -> None:
    with pytest.raises(MalformedMessage) as refusal:
        list(Senml().parse(pack.encode()))

    assert why in str(refusal.value)
