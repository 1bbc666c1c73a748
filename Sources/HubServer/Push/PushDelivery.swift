import HostSystem
import HubProtocol
import HubRouting
import HubStore
import Logging
import PushServices
import ServiceLifecycle
import Signals
import Synchronization

/// Delivers the messages of all hubs to push services: a ``DeliveryLane`` for each platform of each hub.
///
/// A lane delivers during one term of this node's duties. The lanes of a node without duties only keep the push
/// services ready for test sends.
final class PushDelivery: Service {
    private struct LaneKey: Hashable {
        let hub: HubKey
        let platform: Platform
    }

    private struct RunningLane {
        let lane: DeliveryLane
        let task: Task<Void, Never>
        let credential: PlatformCredential?
        let term: LeaseTerm?
    }

    private struct State {
        /// Hubs whose lanes may have to change.
        var changed: Set<HubKey> = []
        var credentials: [HubKey: [PlatformCredential]] = [:]
        var lanes: [LaneKey: RunningLane] = [:]
        /// Lanes that finish what they have begun, each with a task that ends after it and for which the next lane waits.
        var retiring: [LaneKey: (lane: DeliveryLane, end: Task<Void, Never>)] = [:]
        /// Time of the last warning about a credential that expires soon.
        var warnedAt: [LaneKey: Timestamp] = [:]
        /// The latest pass over changed hubs, which the next one waits for.
        var reconciling: Task<Void, Never>?
    }

    /// The threads of lanes, one for each platform: a lane reads the store and renders where it sends from.
    private let threads = Mutex<[Platform: ThreadExecutor]>([:])
    private let directory: HubDirectory
    private let lease: NodeLease
    private let isClockSteady: @Sendable () -> Bool
    private let state = Mutex(State())
    private let wakeUp = AsyncSignal()

    init(_ directory: HubDirectory, _ lease: NodeLease, isClockSteady: @escaping @Sendable () -> Bool) {
        self.directory = directory
        self.lease = lease
        self.isClockSteady = isClockSteady
    }

    /// Carries out the results of a batch of changes.
    func carryOut(_ output: NamespaceMachine.Output) {
        for (hub, (status, _)) in output.hubs { note(hub, status.credentials) }
        for hub in output.deliveries { wake(hub) }
        for hub in output.closed { close(hub) }
    }

    /// Notes the credentials of a hub that was opened or may have changed.
    func note(_ hub: HubKey, _ credentials: [PlatformCredential]) {
        let isNew = state.withLock { state in
            guard state.credentials[hub] != credentials else { return false }
            state.credentials[hub] = credentials
            state.changed.insert(hub)
            return true
        }
        if isNew { wakeUp.signal() }
    }

    /// Notes that this node has gained or lost the duties.
    func noteLease() {
        state.withLock { $0.changed.formUnion($0.credentials.keys) }
        wakeUp.signal()
        wakeAll()
    }

    /// The lanes that run now.
    var lanes: [DeliveryLane] { state.withLock { $0.lanes.values.map(\.lane) } }

    /// Lets every lane look for due messages now.
    func wakeAll() {
        for lane in lanes { lane.wake() }
    }

    private func wake(_ hub: HubKey) {
        let lanes = state.withLock { $0.lanes.filter { $0.key.hub == hub }.map(\.value.lane) }
        for lane in lanes { lane.wake() }
    }

    private func close(_ hub: HubKey) {
        state.withLock { state in
            state.credentials[hub] = nil
            _ = state.changed.insert(hub)
        }
        wakeUp.signal()
    }

    func run() async throws {
        await cancelWhenGracefulShutdown {
            while !Task.isCancelled {
                await self.reconcileChanged()
                self.warnOfExpiry()
                await self.wakeUp.wait(atMost: .seconds(60))
            }
        }
        let (lanes, retiring) = state.withLock { state in
            defer { (state.lanes, state.retiring) = ([:], [:]) }
            return (Array(state.lanes.values), Array(state.retiring.values))
        }
        for (lane, _) in retiring { lane.stop() }
        for running in lanes {
            running.lane.stop()
            running.task.cancel()
        }
        for running in lanes { await running.task.value }
        for (_, end) in retiring { await end.value }
    }

    /// Warns once a day about credentials that expire within a month.
    private func warnOfExpiry() {
        for hub in directory.hubs {
            let now = hub.configuration.timestamp
            for (platform, end) in hub.push.expiries where end < now + PushServiceDirectory.expiryNotice {
                let key = LaneKey(hub: hub.record.id, platform: platform)
                let isDue = state.withLock { state in
                    guard state.warnedAt[key].map({ $0 + .seconds(86_400) <= now }) ?? true else { return false }
                    state.warnedAt[key] = now
                    return true
                }
                guard isDue else { continue }
                directory.logger.warning(
                    "a credential for a push service expires soon: replace it",
                    metadata: [
                        "hub.name": "\(hub.record.name)", "push.platform": "\(platform)",
                        "push.expires": "\(end.wholeSecond)",
                    ]
                )
            }
        }
    }

    /// Returns when everything that can be sent now has been sent and its outcomes are recorded.
    func settle() async {
        while true {
            let pass = await reconcileChanged()
            let (isDone, ends) = state.withLock { state in
                // A lane that has retired since, or a later pass, leads to another lane.
                let isDone = state.reconciling == pass && state.changed.isEmpty && state.retiring.isEmpty
                return (isDone, state.retiring.values.map(\.end))
            }
            if isDone { break }
            for end in ends { await end.value }
        }
        for lane in lanes { await lane.settle() }
    }

    /// Passes run one after the other, however many callers there are.
    ///
    /// - Returns: This pass, which has ended.
    @discardableResult
    private func reconcileChanged() async -> Task<Void, Never> {
        let task = state.withLock { state in
            let former = state.reconciling
            let task = Task {
                await former?.value
                let changed = self.state.withLock { state in
                    defer { state.changed = [] }
                    return state.changed
                }
                for hub in changed.sorted(by: { $0.rawValue < $1.rawValue }) { await self.reconcile(hub) }
            }
            state.reconciling = task
            return task
        }
        await task.value
        return task
    }

    /// Runs the lanes that a hub needs: one for each credential and for each platform with pending messages.
    private func reconcile(_ key: HubKey) async {
        let term = lease.term
        let hub = directory.hubs.first { $0.record.id == key }
        let credentials = hub.map { PushCredentials($0.status.credentials, $0.configuration) }
        var platforms = Set(credentials?.platforms ?? [])
        if let hub { platforms.formUnion((try? await hub.store.openPlatforms(hub: key)) ?? []) }
        let former = state.withLock { $0.lanes.filter { $0.key.hub == key } }
        for (laneKey, running) in former {
            let isSame =
                platforms.contains(laneKey.platform) && credentials?[laneKey.platform] == running.credential
                && running.term == term
            guard !isSame else { continue }
            hub?.push[laneKey.platform] = nil
            retire(running, laneKey)
        }
        guard let hub else { return }
        hub.push.forgetRefusals(except: platforms)
        for platform in platforms.sorted() {
            let laneKey = LaneKey(hub: key, platform: platform)
            guard state.withLock({ $0.lanes[laneKey] == nil && $0.retiring[laneKey] == nil }) else { continue }
            let credential = credentials?[platform]
            let service = service(for: credential, platform, hub)
            hub.push[platform] = service
            let lane = DeliveryLane(
                hub: hub,
                platform: platform,
                service: service,
                audience: credential.flatMap {
                    hub.push.audience(of: $0, on: platform, by: hub.configuration.pushServices)
                },
                lease: lease,
                term: term,
                isClockSteady: isClockSteady
            )
            let task = Task(executorPreference: thread(of: platform)) { await lane.run() }
            state.withLock {
                $0.lanes[laneKey] = RunningLane(lane: lane, task: task, credential: credential, term: term)
            }
        }
    }

    /// - Returns: `nil` if the system has no thread left.
    private func thread(of platform: Platform) -> ThreadExecutor? {
        threads.withLock { threads in
            if threads[platform] == nil { threads[platform] = try? ThreadExecutor() }
            return threads[platform]
        }
    }

    /// Lets a lane finish what it has begun; meanwhile, other lanes go on.
    private func retire(_ running: RunningLane, _ key: LaneKey) {
        running.task.cancel()
        state.withLock { state in
            state.lanes[key] = nil
            let end = Task {
                await running.task.value
                self.state.withLock { state in
                    state.retiring[key] = nil
                    _ = state.changed.insert(key.hub)
                }
                self.wakeUp.signal()
            }
            state.retiring[key] = (running.lane, end)
        }
    }

    private func service(
        for credential: PlatformCredential?,
        _ platform: Platform,
        _ hub: Hub
    ) -> (any PushService)? {
        hub.push.note(platform) { $0 = PushServicesInUse.Obstacles() }
        guard let credential else { return nil }
        do {
            return try hub.configuration.pushServices.service(for: credential)
        } catch {
            hub.push.note(platform) { $0.refusal = error.description }
            directory.logger.error(
                "a credential cannot be used: messages for its push service wait until it is replaced",
                metadata: [
                    "hub.name": "\(hub.record.name)", "push.credential": "\(credential.kind.element)",
                    "error.reason": "\(error)",
                ]
            )
            return nil
        }
    }
}
