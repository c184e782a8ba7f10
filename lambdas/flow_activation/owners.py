"""What owners want in force, each by itself, made one version with what all others have."""

from collections.abc import Collection, Iterator, Mapping

from clients.aws import S3Client
from clients.flows import store as flow_store
from clients.flows.parser_store import ParserStore
from fleetlane.events.flows.files import PublishedFlows
from fleetlane.events.flows.ownership import collisions, topic_collisions
from fleetlane.events.s3_keys import owners_flows
from lambdas.flow_activation import service


def activate_owners(
    owners: Collection[str], *, s3: S3Client, bucket: str, topics: service.Topics
) -> service.Activation:
    """Put into force what each of these owners wants; all others keep what they have.

    The caller is of no account: each owner's wish lies where that owner alone may write. Where none
    was ever in force, or it cannot be read, the wishes of all owners are taken.

    Raises:
        FlowsRefusedError: An owner wants nothing, or something that is another's, or a version that
            ``activate`` refuses. All stays as it is.
        FlowsOvertakenError: Others were activated at this moment. Ask again.
        FleetlaneError: All else that ``activate`` raises.
    """
    store, owned = flow_store.FlowStore(s3, bucket), flow_store.OwnerFlows(s3, bucket)
    current = store.in_force()
    asked = {*owners, *owned.owners()} if current is None else set(owners)
    before = PublishedFlows.of(()) if current is None else current
    wanted = {owner: _wanted(owner, owned) for owner in sorted(asked)}
    merged = _merged(wanted, before)
    return service.activate(
        store.publish(merged.flows, merged.artifacts),
        store=store,
        topics=topics,
        artifacts=ParserStore(s3, bucket),
        current=current,
        owners=_owners(wanted, before, owned),
    )


def _merged(wanted: Mapping[str, PublishedFlows], current: PublishedFlows) -> PublishedFlows:
    """The flows in force with those that are wanted in place of their owners'."""
    had = [flow for flow in current.flows if flow.owner in wanted]
    flows = [flow for flow in current.flows if flow.owner not in wanted]
    artifacts = [one for one in current.artifacts if one.owner not in wanted]
    for owner, published in wanted.items():
        for name, holder, _ in collisions(published.flows, flows, had=had):
            problem = f"{name} is {holder}'s; a flow of {owner} names it too"
            raise service.FlowsRefusedError(published.version, problem)
        flows.extend(published.flows)
        artifacts.extend(published.artifacts)
    for stream, problem in topic_collisions(flows):
        for version in (one.version for one in wanted.values() if stream in one.by_stream):
            raise service.FlowsRefusedError(version, f"stream {stream}: {problem}")
    return PublishedFlows.of(flows, artifacts)


def _owners(
    wanted: Mapping[str, PublishedFlows], current: PublishedFlows, owned: flow_store.OwnerFlows
) -> service.OwnersVersions:
    versions, returning = dict(current.owners), set[str]()
    for owner, published in wanted.items():
        before = _history(owner, current, owned)
        if published.version in before:
            returning.add(owner)
        others = [version for version in before if version != published.version]
        versions[owner] = (published.version, *others[: flow_store.BEFORE_MAX])
    return service.OwnersVersions(versions=versions, returning=returning)


def _wanted(owner: str, owned: flow_store.OwnerFlows) -> PublishedFlows:
    """What an owner wants in force, which may be nothing but its own."""
    wanted = owned.wanted(owner)
    if wanted is None:
        raise service.FlowsRefusedError("(none)", f"{owner} wants no version in force; publish one")
    try:
        published = owned.of(owner).published(wanted.version)
    except (flow_store.FlowsNotPublishedError, flow_store.FlowsUnreadableError) as problem:
        raise service.FlowsRefusedError(wanted.version, str(problem)) from problem
    for foreign in _foreign(published, owner):
        why = f"{foreign}, and lies below {owners_flows(owner)}"
        raise service.FlowsRefusedError(wanted.version, why)
    return published


def _foreign(published: PublishedFlows, owner: str) -> Iterator[str]:
    for flow in published.flows:
        if flow.owner != owner:
            yield f"the flow of stream {flow.stream} is {flow.owner}'s"
    for artifact in published.artifacts:
        if artifact.owner != owner:
            yield f"the artifact of parser {artifact.use} is {artifact.owner}'s"


def _history(owner: str, current: PublishedFlows, owned: flow_store.OwnerFlows) -> tuple[str, ...]:
    """The owner's version in force and those before it.

    Flows that came into force before there was a place for each owner are put there, once.
    """
    known = current.owners.get(owner)
    if known is not None or all(flow.owner != owner for flow in current.flows):
        return known or ()
    before = current.of_owner(owner)
    return (owned.of(owner).publish(before.flows, before.artifacts),)
