import HubProtocol
import HubRouting
import HubStore
import Logging
import ServiceLifecycle
import Signals

/// Runs the jobs of all hubs, one at a time and oldest first; jobs interrupted by a stop continue after the next start.
///
/// A job runs at the node that accepted it, which has its files; other nodes only show it.
struct JobService: Service {
    /// Maximum number of unfinished jobs of a hub.
    static let maximumWaiting = 16
    /// Maximum number of jobs kept for a hub; older ones are deleted with their files.
    static let maximumKept = 100
    /// Pause after jobs or their progress could not be read or written.
    private static let pause = Duration.seconds(30)

    let served: ServedHubs
    private let requests = AsyncSignal()

    func files(of hub: HubName) -> JobFiles { JobFiles(served.configuration.jobsFolder, hub: hub) }

    /// Accepts a job, which is durable and waiting when this method returns.
    ///
    /// - Throws: 400 for a file that is not this hub's, 429 if too many jobs wait.
    func submit(_ request: NotificationHubJob.Request, to hub: Hub, bytes: Int) async throws -> StoredJob {
        let files = files(of: hub.record.name)
        if request.kind != .exportRegistrations {
            _ = try JobFileName(request.importFileURI ?? "", in: files.path)
        }
        let at = served.configuration.timestamp
        let job = StoredJob(
            hub: hub.record.id,
            node: served.store.node,
            job: NotificationHubJob(
                id: NotificationHubJob.newID(at: at),
                request: request,
                createdAt: at,
                updatedAt: at
            )
        )
        let dropped = try await hub.perform(bytes: bytes) { transaction, _ in
            guard try transaction.unfinishedJobCount(hub: job.hub, node: job.node) < Self.maximumWaiting else {
                throw ProtocolError.tooManyRequests(
                    "This hub has the maximum of \(Self.maximumWaiting) unfinished jobs; try again later."
                )
            }
            try transaction.insert(job)
            return (try transaction.dropOldJobs(hub: job.hub, node: job.node, kept: Self.maximumKept), [])
        }
        for id in dropped { await remove(id, files) }
        requests.signal()
        return job
    }

    func run() async throws {
        // Jobs may be unfinished from before the start.
        requests.signal()
        await cancelWhenGracefulShutdown {
            while true {
                await requests.wait()
                do {
                    while let next = try await next() { try await work(next.job, at: next.hub) }
                } catch is CancellationError {
                    return
                } catch {
                    served.logger.error("cannot run jobs; trying again", metadata: ["error.reason": "\(error)"])
                    guard (try? await Task.sleep(for: Self.pause)) != nil else { return }
                    requests.signal()
                }
            }
        }
    }

    private func next() async throws -> (job: StoredJob, hub: Hub)? {
        try Task.checkCancellation()
        let hubs = served.directory.hubs
        for job in try await served.store.unfinishedJobs() {
            if let hub = hubs.first(where: { $0.record.id == job.hub }) { return (job, hub) }
        }
        return nil
    }

    private func work(_ job: StoredJob, at hub: Hub) async throws {
        var run = JobRun(hub: hub, files: files(of: hub.record.name), stored: job)
        try await run.run()
        let done = run.stored.job
        guard done.status.isFinished else { return }
        served.logger.notice(
            done.status == .failed ? "a job has failed" : "a job is done",
            metadata: [
                "hub.name": "\(hub.record.name)", "job.id": "\(done.id)", "job.type": "\(done.request.kind.rawValue)",
            ]
        )
    }

    /// Removes the files of a job that is no longer stored.
    private func remove(_ id: String, _ files: JobFiles) async {
        do {
            try await files.remove(job: id)
        } catch {
            served.logger.warning(
                "cannot remove a job's files",
                metadata: ["error.reason": "\(error)", "job.id": "\(id)"]
            )
        }
    }

    /// Removes the files of all jobs of a deleted hub, except files to be imported, which the hub did not write.
    func removeFiles(of jobs: [StoredJob]) async {
        for job in jobs where job.node == nil || job.node == served.store.node {
            // The path contains the name of the hub, which is not stored elsewhere any more.
            guard let path = job.job.outputProperties[NotificationHubJob.outputFilePath],
                let name = path.split(separator: "/").dropLast(2).last.flatMap({ try? HubName(String($0)) })
            else { continue }
            await remove(job.job.id, files(of: name))
        }
    }
}
