import ast
import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from docs.cost import BEGIN, DOCUMENT, with_tables
from fleetlane.events.job_arguments import Engine
from fleetlane.events.lanes import Lane
from glue_jobs.kafka import source_and_sink as kafka
from infra import cost
from infra.constructs.api.http_api import ACCESS_LOG
from infra.constructs.jobs import glue_engine
from infra.cost.__main__ import main, million_more
from infra.cost.backend import checkpoints_usd
from infra.cost.bill import bill, message_usd, with_http
from infra.cost.scenario import (
    LARGE_LANES,
    BadScenarioError,
    Figures,
    Scenario,
    Traffic,
    UnknownFigureError,
    figures_of_files,
    usual_traffic,
)
from infra.stages import Api, settings_of, stage_from
from tests.infra.synthesis import Synthesized

pytestmark = pytest.mark.cdk

FIGURES = figures_of_files()
PROD = stage_from("prod", settings_of("prod"))
A_DAYS = (1e5, 1e6, 1e7, 1e8)
A_DAY = 120_000  # 3.65 million in a twelfth of a year


def _scenario(
    messages_a_day: float = A_DAY, *, body_kib: float = 1, figures: Figures = FIGURES
) -> Scenario:
    traffic = usual_traffic(messages_a_day, body_kib=body_kib, bulk_body_kib=body_kib)
    return Scenario(stage=PROD, traffic=traffic, figures=figures)


def _priced(usd: Mapping[str, float]) -> Figures:
    """The files' figures with these prices alone; the rest is free."""
    prices = {
        name: {"usd": usd.get(name, 0.0), "units": price["units"]}
        for name, price in FIGURES.prices.items()
    }
    tiers = ((1e6, 4.0), (float("inf"), 2.0))
    prices["api_request_rest"] = {**prices["api_request_rest"], "tiers": tiers}
    return Figures(prices=prices, measures=FIGURES.measures)


def test_a_month_is_what_one_adds_up_by_hand() -> None:
    figures = _priced({"lambda_request": 1, "glue_dpu_hour": 1, "broker_hour_m7g_xlarge": 1})

    month = bill(_scenario(figures=figures))

    api = 1 * 4 + 2.65 * 2
    calls = 3.65 * (1 + 0.2)  # one request in five asks the authorizer
    workers = (4 + 10 + 4 + 3 + 5) * 730
    brokers = 3 * 730
    assert sum(month.fixed.values()) == pytest.approx(workers + brokers)
    assert sum(month.growing.values()) == pytest.approx(api + calls)


def test_a_large_body_is_paid_for_as_an_object() -> None:
    figures = _priced({"s3_put": 1, "s3_get": 1})
    scenario = _scenario(figures=figures).with_body(Lane.BULK, 512)

    usd = sum(bill(scenario).of("S3: large bodies"))

    assert usd == pytest.approx(36.5 * 2)  # thousands of messages, each a PUT and a GET


def test_a_million_messages_more_behind_the_http_api_cost_two_and_a_half_dollars_at_most() -> None:
    prod = Scenario(
        stage=PROD,
        traffic=usual_traffic(20_000_000, body_kib=1, bulk_body_kib=512),
        figures=FIGURES,
    )

    usd = {api: million_more(at, 1) for api, at in ((Api.REST, prod), (Api.HTTP, with_http(prod)))}

    assert {"Lambda: ingest", "CloudWatch: logs", "MSK: disks"} <= usd[Api.HTTP].keys()
    assert sum(usd[Api.HTTP].values()) <= 2.5 < sum(usd[Api.REST].values())
    assert usd[Api.HTTP]["API Gateway"] <= usd[Api.REST]["API Gateway"] / 3 + 0.005


def test_the_http_api_counts_large_bodies_in_parts_of_512_kib() -> None:
    at = with_http(_scenario())

    small, large = (
        message_usd(at.with_body(Lane.BULK, kib), Lane.BULK)["API Gateway"] for kib in (512, 513)
    )

    assert large == pytest.approx(2 * small)


def test_a_firewall_and_traces_are_in_the_bill_where_they_are_on() -> None:
    at = _scenario()

    on, off = (
        {name for name in ("Firewall", "X-Ray") if all(bill(one).of(name))}
        for one in (at, with_http(at))
    )

    assert (on, off) == ({"Firewall", "X-Ray"}, set())


def test_trigger_0_writes_its_checkpoints_once_a_second() -> None:
    at = _scenario(figures=_priced({"s3_put": 1}))

    assert checkpoints_usd(at, 0) == checkpoints_usd(at, 1_000) == pytest.approx(5_256)


def test_more_messages_cost_more_in_all_and_less_each() -> None:
    months = [bill(_scenario(a_day)) for a_day in A_DAYS]

    totals = [month.usd for month in months]
    each = [usd / a_day for usd, a_day in zip(totals, A_DAYS, strict=True)]
    assert totals == sorted(totals)
    assert each == sorted(each, reverse=True)


@pytest.mark.parametrize("lane", Lane)
def test_larger_bodies_never_cost_less(lane: Lane) -> None:
    sizes = (0.25, 1, 10, 100, 256, *((257, 1_000, 4_000) if lane in LARGE_LANES else ()))

    costs = [
        sum(message_usd(_scenario().with_body(lane, size), lane).values())
        for size in sizes
        if size != 257  # from here on the body is in S3, where a byte costs less
    ]

    assert costs == sorted(costs)


def test_fixed_costs_do_not_grow_with_messages() -> None:
    few, many = bill(_scenario(1e5)), bill(_scenario(1e8))

    assert sum(few.fixed.values()) == pytest.approx(sum(many.fixed.values()))


def test_the_engines_differ_by_their_workers_alone() -> None:
    glue, emr = (bill(_scenario().on(engine=one)) for one in (Engine.GLUE, Engine.EMR))

    differing = {name for name in glue.fixed if glue.of(name) != emr.of(name)}

    assert differing == {"Spark: workers"}


@pytest.mark.parametrize(
    ("lane", "traffic", "problem"),
    [
        (Lane.FAST, Traffic(messages_a_day=1, body_kib=257), "they go to the bulk lane"),
        (Lane.SLOW, Traffic(messages_a_day=1e9, body_kib=1), "it takes 4,?000"),
        (Lane.STANDARD, Traffic(messages_a_day=0, body_kib=1), "both must be above 0"),
    ],
)
def test_traffic_that_no_lane_takes_is_refused(lane: Lane, traffic: Traffic, problem: str) -> None:
    with pytest.raises(BadScenarioError, match=problem):
        Scenario(stage=PROD, traffic={lane: traffic}, figures=FIGURES)


def test_a_figure_that_no_file_has_is_named() -> None:
    with pytest.raises(UnknownFigureError, match=r"prices\.toml has no \[gold\]"):
        FIGURES.usd("gold")


def test_every_price_and_figure_is_used() -> None:
    modules = Path(cost.__path__[0]).glob("*.py")
    texts = {
        node.value
        for module in modules
        for node in ast.walk(ast.parse(module.read_text()))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }

    composed = ("api_request_", "broker_hour_", "broker_mib_per_s_")
    names = {name for name in (*FIGURES.prices, *FIGURES.measures) if not name.startswith(composed)}

    assert names <= texts


def test_every_price_says_where_it_is_from_and_every_figure_how_it_came_by() -> None:
    for price in FIGURES.prices.values():
        assert {"usd", "units", "unit", "source", "noted"} <= price.keys()
        assert price.keys() <= {"usd", "units", "unit", "source", "noted", "note", "tiers"}
        assert "pricing" in price["source"]
    for figure in FIGURES.measures.values():
        assert figure.keys() == {"value", "unit", "how", "by"}
        assert figure["how"] in {"measured", "indicative", "counted", "assumed"}


def test_a_line_of_the_access_log_is_as_long_as_is_counted() -> None:
    usual = {
        "requestId": "JKJaXmPLvHcESHA=",
        "requestTime": "23/Nov/2026:02:40:12 +0000",
        "route": "POST /v1/streams/{stream}",
        "status": "202",
        "responseLength": "123",
        "integrationError": "-",
        "authorizerError": "-",
    }

    line = json.dumps({name: usual[name] for name in ACCESS_LOG}, separators=(",", ":"))

    assert len(line) <= FIGURES.measure("access_line_bytes")


def test_what_is_counted_is_what_the_code_has() -> None:
    assert FIGURES.measure("async_checkpoint_ms") == kafka.ASYNC_CHECKPOINT_INTERVAL_MS
    assert glue_engine.WORKER_TYPE == "G.1X"


def test_alarms_are_counted_as_the_template_has_them(prod: Synthesized) -> None:
    alarms = prod.resources("AWS::CloudWatch::Alarm", of="watching").values()

    metrics = sum(
        sum("MetricStat" in one for one in alarm["Properties"].get("Metrics", [{"MetricStat": 1}]))
        for alarm in alarms
    )

    assert FIGURES.measure("alarm_metrics") == metrics


def test_keys_are_counted_as_the_templates_have_them(prod: Synthesized) -> None:
    kinds = [resource["Type"] for _, _, resource in prod.all_resources()]

    assert FIGURES.measure("kms_keys") == kinds.count("AWS::KMS::Key")


def test_the_authorizers_memory_is_the_templates(prod: Synthesized) -> None:
    functions = prod.resources("AWS::Lambda::Function", of="ingest").items()

    memory_mib = [
        one["Properties"]["MemorySize"] for name, one in functions if "authorizer" in name
    ]

    assert memory_mib == [FIGURES.measure("authorizer_memory_mib")]


@pytest.mark.parametrize("stage", ["dev", "staging", "prod"])
def test_every_stage_in_aws_has_a_price(stage: str, capsys: pytest.CaptureFixture[str]) -> None:
    code = main(["--stage", stage, "--messages-per-day", "1e5"])

    assert code == 0
    assert f"Stage {stage} in eu-central-1" in capsys.readouterr().out


def test_the_document_says_what_the_command_prints(capsys: pytest.CaptureFixture[str]) -> None:
    main([])

    printed = capsys.readouterr().out.strip("\n")

    document = DOCUMENT.read_text()
    assert with_tables(document, printed) == document, "run `.venv/bin/python -m docs.cost`"


def test_a_document_without_a_place_for_the_tables_is_refused() -> None:
    with pytest.raises(AssertionError, match=r"docs/cost\.md has no lines"):
        with_tables(BEGIN, "tables")


def test_a_scenario_that_cannot_be_is_reported_in_a_sentence(
    capsys: pytest.CaptureFixture[str],
) -> None:
    code = main(["--kib", "300"])

    assert code == 1
    assert capsys.readouterr().err.startswith("error: bodies of 300 KiB in the fast lane")


def test_components_add_up() -> None:
    month = bill(_scenario())

    components = {*month.fixed, *month.growing}

    assert sum(sum(month.of(name)) for name in components) == pytest.approx(month.usd)
