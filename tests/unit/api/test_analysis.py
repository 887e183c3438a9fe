"""How templates of analyses are read: each documented field is honoured, or refused by its name."""

from pathlib import Path

import pytest
import yaml

from rollout.api.analysis import AnalysisSpec, decode_analysis, metrics_of
from rollout.measuring.templates import with_arguments
from rollout.measuring.values import SecretRef
from rollout.model.kinds import ANALYSIS_TEMPLATE, CLUSTER_ANALYSIS_TEMPLATE, Obj, Ref

TEMPLATES = yaml.safe_load(Path(__file__).with_name("analysis_templates.yaml").read_text())
SERVED = [each for each in TEMPLATES if "refused" not in each]
REFUSED = [each for each in TEMPLATES if "refused" in each]
REF = Ref(ANALYSIS_TEMPLATE, "apps/slo")


def by_title(title: str) -> Obj:
    (found,) = [each["spec"] for each in TEMPLATES if each["title"] == title]
    assert isinstance(found, dict)
    return found


@pytest.mark.parametrize("case", SERVED, ids=lambda each: each["title"])
def test_a_template_of_the_fields_best_known_tool_is_read_as_it_is(case: Obj) -> None:
    template = decode_analysis(REF, {"spec": case["spec"]})
    given = {a.name: a.value or "x" for a in template.arguments}
    spec = AnalysisSpec.model_validate(with_arguments(case["spec"], given), extra="forbid")

    assert template.problems == ()
    assert metrics_of(spec.metrics, spec.dry_run, spec.measurement_retention)


@pytest.mark.parametrize("case", REFUSED, ids=lambda each: each["title"])
def test_what_is_not_served_is_refused_by_its_field(case: Obj) -> None:
    template = decode_analysis(REF, {"spec": case["spec"]})

    assert case["refused"] in [problem.path for problem in template.problems]


def test_arguments_are_put_into_numbers_and_conditions() -> None:
    raw = with_arguments(
        by_title("numbers as arguments"), {"times": "5", "limit": "2", "least": "0.9"}
    )
    spec = AnalysisSpec.model_validate(raw)
    (metric,) = metrics_of(spec.metrics, None, None)

    assert (metric.count, metric.failure_limit, metric.success) == (5, 2, "result[0] >= 0.9")


def test_dry_runs_and_retention_follow_the_names_of_metrics() -> None:
    spec = AnalysisSpec.model_validate(by_title("several metrics and dry runs"))
    kept = AnalysisSpec.model_validate(by_title("retention of measurements"))

    found = metrics_of(spec.metrics, spec.dry_run, None)
    assert [metric.is_dry for metric in found] == [True, False]
    assert metrics_of(kept.metrics, None, kept.measurement_retention)[0].kept == 20


def test_a_metric_with_an_interval_alone_never_ends() -> None:
    endless = decode_analysis(REF, {"spec": by_title("in the background without an end")})
    ending = decode_analysis(REF, {"spec": by_title("numbers as arguments")})

    assert (endless.ends, ending.ends) == (False, True)


def test_a_secret_stays_where_it_is_until_it_is_measured() -> None:
    template = decode_analysis(REF, {"spec": by_title("headers and a timeout")})

    assert template.arguments[0].secret == SecretRef(name="prometheus", key="token")


def test_a_template_without_a_namespace_has_no_secrets() -> None:
    ref = Ref(CLUSTER_ANALYSIS_TEMPLATE, "slo")
    template = decode_analysis(ref, {"spec": by_title("headers and a timeout")})

    assert [problem.path for problem in template.problems] == [
        "spec.args[token].valueFrom.secretKeyRef"
    ]
