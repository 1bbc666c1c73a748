import Formats
import Foundation
import GRDB
package import HubProtocol
package import HubRouting
import SQLiteFiles

/// A job with the state that only the hub knows.
package struct StoredJob: Sendable, Equatable {
    package let hub: HubKey
    /// The node that has the job's files and runs it; `nil` in a hub with one node.
    package let node: String?
    package var job: NotificationHubJob
    /// The progress of the job in the worker's own format; `nil` before the job has begun.
    package var checkpoint: String?

    package init(hub: HubKey, node: String? = nil, job: NotificationHubJob, checkpoint: String? = nil) {
        self.hub = hub
        self.node = node
        self.job = job
        self.checkpoint = checkpoint
    }
}

extension HubStore {
    /// The newest jobs of a hub, newest first, which is the reverse order of their ids.
    package func jobs(hub: HubKey, limit: Int) async throws -> [StoredJob] {
        try await rows(JobQuery.newest, [hub, limit], StoredJob.init(row:))
    }

    package func job(hub: HubKey, id: String) async throws -> StoredJob? {
        try await row(JobQuery.one, [hub, id], StoredJob.init(row:))
    }

    /// The unfinished jobs that this node runs, of all hubs, oldest first.
    package func unfinishedJobs() async throws -> [StoredJob] {
        try await rows(JobQuery.unfinished, [node], StoredJob.init(row:))
    }

    /// The unfinished jobs of other nodes, of all hubs.
    package func unfinishedJobsElsewhere() async throws -> [StoredJob] {
        try await rows(JobQuery.unfinishedElsewhere, [node], StoredJob.init(row:))
    }
}

extension Transaction {
    /// Number of unfinished jobs of a hub that one node runs; `node` is `nil` in a hub with one node.
    package func unfinishedJobCount(hub: HubKey, node: String?) throws -> Int {
        try db.value(JobQuery.unfinishedCount, [hub, node]) ?? 0
    }

    package func insert(_ job: StoredJob) throws {
        try execute(
            "INSERT INTO job VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            [
                job.hub, job.job.id, try JSONEncoder.sorted.text(job.job.request), job.job.status.rawValue,
                job.job.progress,
                job.job.failure, try JSONEncoder.sorted.text(job.job.outputProperties), job.checkpoint,
                job.job.createdAt.milliseconds, job.job.updatedAt.milliseconds, job.node,
            ]
        )
    }

    /// Stores the progress or the end of a job.
    ///
    /// - Returns: False, and nothing is changed, if the job is gone or has ended.
    package func update(_ job: StoredJob) throws -> Bool {
        try execute(
            """
            UPDATE job SET status = ?, progress = ?, failure = ?, output = ?, checkpoint = ?, updatedAt = ?
            WHERE hubID = ? AND jobID = ? AND \(JobQuery.isUnfinished)
            """,
            [
                job.job.status.rawValue, job.job.progress, job.job.failure,
                try JSONEncoder.sorted.text(job.job.outputProperties), job.checkpoint, job.job.updatedAt.milliseconds,
                job.hub, job.job.id,
            ]
        )
        return db.changesCount > 0
    }

    /// Gives a node the jobs that were accepted while the hub had one node.
    ///
    /// The first node of a log is the first to call this, and its machine has the files.
    package func claimJobs(by node: String) throws {
        try execute("UPDATE job SET node = ? WHERE node IS NULL", [node])
    }

    /// Deletes the oldest finished jobs of a hub, so that at most `kept` jobs are left.
    ///
    /// With a node, only its jobs are counted and deleted, because it has their files.
    ///
    /// - Returns: The ids of the deleted jobs.
    package func dropOldJobs(hub: HubKey, node: String? = nil, kept: Int) throws -> [String] {
        let old: [String] = try db.values(JobQuery.old, [hub, kept, node])
        for id in old { try execute("DELETE FROM job WHERE hubID = ? AND jobID = ?", [hub, id]) }
        return old
    }
}

/// Statements about jobs, in one place so that a test can check their query plans; a hub has few jobs.
enum JobQuery {
    private static let columns = """
        SELECT hubID, jobID, request, status, progress, failure, output, checkpoint, job.createdAt, job.updatedAt, node
        FROM job
        """
    /// A hub with one node runs all jobs, also those that were accepted by other nodes before.
    private static func isOfNode(_ parameter: String) -> String { "(\(parameter) IS NULL OR node = \(parameter))" }
    static let isUnfinished = "status IN ('Started', 'Running')"
    static let newest = "\(columns) WHERE hubID = ? ORDER BY jobID LIMIT ?"
    static let one = "\(columns) WHERE hubID = ? AND jobID = ?"
    static let unfinished = """
        \(columns) JOIN hub USING (hubID) WHERE \(isUnfinished) AND deletedAt IS NULL AND \(isOfNode("?1"))
        ORDER BY job.createdAt, jobID DESC
        """
    static let unfinishedElsewhere = """
        \(columns) JOIN hub USING (hubID) WHERE \(isUnfinished) AND deletedAt IS NULL AND node <> ?1
        """
    static let unfinishedCount = """
        SELECT count(*) FROM job WHERE hubID = ?1 AND \(isUnfinished) AND \(isOfNode("?2"))
        """
    static let old = """
        SELECT jobID FROM job WHERE hubID = ?1 AND \(isOfNode("?3")) AND NOT \(isUnfinished) AND jobID NOT IN (
            SELECT jobID FROM job WHERE hubID = ?1 AND \(isOfNode("?3")) ORDER BY jobID LIMIT ?2)
        """
}

extension StoredJob {
    fileprivate init(row: Row) throws {
        let status: String = row["status"]
        let output: String? = row["output"]
        self.init(
            hub: row["hubID"],
            node: row["node"],
            job: NotificationHubJob(
                id: row["jobID"],
                request: try Self.value(NotificationHubJob.Request.self, row["request"]),
                status: NotificationHubJob.Status(rawValue: status) ?? .failed,
                progress: row["progress"],
                failure: row["failure"],
                outputProperties: try output.map { try Self.value([String: String].self, $0) } ?? [:],
                createdAt: row["createdAt"],
                updatedAt: row["updatedAt"]
            ),
            checkpoint: row["checkpoint"]
        )
    }

    private static func value<Value: Decodable>(_ type: Value.Type, _ text: String) throws -> Value {
        try JSONReader.decode(type, from: text, limits: .stored)
    }
}
