import HubProtocol
import HubRouting
import HubStore
import Logging
import ServiceLifecycle
import Signals
import Synchronization

/// Fails the jobs of a node that is gone for good: no other node has their files.
final class AbandonedJobs: Service {
    /// Time without a report after which a node is taken to be gone.
    static let absence = Duration.seconds(86_400)
    private static let interval = Duration.seconds(600)

    private let served: ServedHubs
    private let others: OtherNodes
    /// The times at which nodes with unfinished jobs were found missing, while this node had the duties.
    private let missing = Mutex<[String: Duration]>([:])

    init(_ served: ServedHubs, _ others: OtherNodes) {
        self.served = served
        self.others = others
    }

    func run() async throws {
        await repeatUntilStopped(every: Self.interval) {
            do {
                try await self.look()
            } catch {
                // The writer logs why it cannot write.
                self.served.logger.debug("cannot look for abandoned jobs", metadata: ["error.reason": "\(error)"])
            }
        }
    }

    /// Fails the jobs of nodes that have been missing for long enough, if this node has the duties.
    func look() async throws {
        guard let term = served.lease.current else { return missing.withLock { $0 = [:] } }
        let jobs = try await served.store.unfinishedJobsElsewhere()
        let absent = Set(jobs.compactMap(\.node)).filter { !others.isPresent($0) }
        let now = served.configuration.monotonic()
        let gone = missing.withLock { missing in
            missing = Dictionary(uniqueKeysWithValues: absent.map { ($0, missing[$0] ?? now) })
            return missing.filter { now - $0.value >= Self.absence }
        }
        let hubs = served.directory.hubs
        for job in jobs {
            guard let node = job.node, gone[node] != nil, let hub = hubs.first(where: { $0.record.id == job.hub })
            else { continue }
            try await fail(job, of: node, at: hub, term)
        }
    }

    private func fail(_ job: StoredJob, of node: String, at hub: Hub, _ term: LeaseTerm) async throws {
        var failed = job
        failed.job.status = .failed
        failed.job.updatedAt = served.configuration.timestamp
        failed.job.failure =
            "The server '\(node)', which has the job's files, has not reported for a day. Submit the job to another one."
        let isFirst = try await hub.perform { [failed] transaction, _ in
            try term.check(transaction)
            return (try transaction.update(failed), [])
        }
        guard isFirst else { return }
        served.logger.warning(
            "a job has failed, because the server that has its files is gone",
            metadata: ["hub.name": "\(hub.record.name)", "job.id": "\(job.job.id)", "node.name": "\(node)"]
        )
    }
}
