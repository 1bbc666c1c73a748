import Foundation
import HostSystem
import HubProtocol
import HubRouting
import HubStore
import Logging
import ServiceLifecycle
import Synchronization

/// Runs one job to its end, and stores its progress meanwhile.
struct JobRun {
    /// Number of registrations that an export reads at once.
    static let exportPage = 500
    /// The size at which an import transaction is full.
    static let importLimits = ImportChunk.Limits(records: 200, bytes: 256 << 10)
    /// Number of bytes of a file that are read at once.
    static let readBytes = 128 << 10
    /// Interval at which an export stores its progress.
    static let noteInterval = Duration.seconds(1)
    /// Pause before the first retry of an operation.
    static let firstPause = Duration.milliseconds(200)
    static let longestPause = Duration.seconds(30)

    let hub: Hub
    let files: JobFiles
    private(set) var stored: StoredJob
    private(set) var checkpoint = JobCheckpoint()

    /// Runs the job, or the rest of it.
    ///
    /// Errors become the job's failure.
    ///
    /// - Throws: `CancellationError` if the server is stopping; the next start then continues. Otherwise the error that
    ///   keeps the store from saving the job's progress.
    mutating func run() async throws {
        do {
            try await workOrFail()
        } catch  where hub.isDeleted && !(error is CancellationError) {
            // A deleted hub has no job to report on.
            try? await files.remove(job: stored.job.id)
        } catch is EndedElsewhere {
            // The node was away, and another one has failed the job.
        }
    }

    private mutating func workOrFail() async throws {
        do {
            stored.job.status = .running
            do { checkpoint = try JobCheckpoint(text: stored.checkpoint) } catch {
                throw JobFailure(
                    "This version of newswire cannot read the job's progress. See its files, and submit the rest again."
                )
            }
            switch stored.job.request.kind {
            case .exportRegistrations: try await export()
            case .importCreateRegistrations, .importUpdateRegistrations, .importDeleteRegistrations,
                .importUpsertRegistrations:
                try await importRegistrations()
            }
            stored.job.progress = 10_000
            try await end(.completed)
        } catch let error as CancellationError {
            throw error
        } catch let error as EndedElsewhere {
            throw error
        } catch  where !hub.isDeleted {
            stored.job.failure = Self.reason(error, checkpoint, stored.job.request.kind)
            try await end(.failed)
        }
    }

    private static func reason(_ error: any Error, _ checkpoint: JobCheckpoint, _ kind: NotificationHubJob.Kind)
        -> String
    {
        let reason = (error as? ProtocolError)?.detail ?? "\(error)"
        guard kind != .exportRegistrations, checkpoint.position.lines > 0 else { return reason }
        return "\(reason) The first \(checkpoint.position.lines) lines were processed."
    }

    // MARK: - Export

    private mutating func export() async throws {
        let file = try await files.openForWriting(JobFiles.output, job: stored.job.id)
        if checkpoint.after == nil { checkpoint.total = hub.exportableCount }
        stored.job.outputProperties[NotificationHubJob.outputFilePath] = file.path
        try await note()
        var noted = ContinuousClock.now
        var isDone = false
        while !isDone {
            try Task.checkCancellation()
            if hub.isDeleted { throw ProtocolError.noHub(hub.record.name.text) }
            let page = try await hub.store.registrations(
                hub: hub.record.id,
                after: checkpoint.after,
                limit: Self.exportPage
            )
            let bytes = page.registrations.flatMap { $0.registration.exportLine + [UInt8(ascii: "\n")] }
            let length = checkpoint.output.length
            try await JobFiles.blocking { try file.write(bytes, at: length) }
            checkpoint.output.length += Int64(bytes.count)
            checkpoint.output.lines += page.registrations.count
            checkpoint.after = page.next
            isDone = page.next == nil
            // Registrations may have been added meanwhile.
            stored.job.progress = min(9_999, checkpoint.output.lines * 10_000 / max(checkpoint.total, 1))
            guard !isDone, .now - noted >= Self.noteInterval else { continue }
            try await note()
            noted = .now
        }
        stored.job.outputProperties[Self.succeeded] = "\(checkpoint.output.lines)"
    }

    // MARK: - Import

    private mutating func importRegistrations() async throws {
        let name = try JobFileName(stored.job.request.importFileURI ?? "", in: files.path)
        let source: ConfinedFile
        do {
            source = try await files.openForReading(name)
        } catch let error as HostError where error.isMissing {
            throw JobFailure("There is no file '\(files.path)/\(name.text)'; this hub imports its own files only.")
        }
        let identity = try await JobFiles.blocking { try source.identity() }
        guard checkpoint.source.map({ $0 == identity }) ?? true else {
            throw JobFailure("The file '\(source.path)' changed during the import.")
        }
        checkpoint.source = identity
        let output = try await files.openForWriting(JobFiles.output, job: stored.job.id)
        let failed = try await files.openForWriting(JobFiles.failed, job: stored.job.id)
        stored.job.outputProperties[NotificationHubJob.outputFilePath] = output.path
        stored.job.outputProperties[NotificationHubJob.failedFilePath] = failed.path
        try await note()
        try await write(output, failed)
        var records = RegistrationRecords(at: checkpoint.position)
        var read = checkpoint.position.bytes
        var isAtEnd = false
        while true {
            try Task.checkCancellation()
            var chunk = ImportChunk(Self.importLimits)
            while !chunk.isFull {
                if let record = records.nextRecord() {
                    chunk.append(record)
                } else if isAtEnd {
                    break
                } else {
                    let offset = read
                    let bytes = try await JobFiles.blocking { try source.read(Self.readBytes, at: offset) }
                    read += Int64(bytes.count)
                    records.append(bytes)
                    isAtEnd = bytes.count < Self.readBytes
                    if isAtEnd { records.finish() }
                }
            }
            guard let last = chunk.records.last else { break }
            let begun = ContinuousClock.now
            try await commit(chunk.records, through: last.end, of: max(identity.bytes, 1))
            let taken = ContinuousClock.now - begun
            try await write(output, failed)
            // Leaves the writer free for other changes for the same time.
            try await Task.sleep(for: taken)
        }
        try await JobFiles.blocking {
            guard try source.identity() == identity else {
                throw JobFailure("The file '\(source.path)' changed during the import.")
            }
        }
        stored.job.outputProperties[Self.succeeded] = "\(checkpoint.output.lines)"
        stored.job.outputProperties[Self.failedCount] = "\(checkpoint.failed.lines)"
    }

    /// Imports some records in one transaction that also stores the job's progress.
    private mutating func commit(
        _ chunk: [RegistrationRecords.Record],
        through end: RegistrationRecords.Position,
        of bytes: Int64
    ) async throws {
        let step = ImportStep(kind: stored.job.request.kind, hub: hub, records: chunk)
        var next = checkpoint
        next.position = end
        let (job, at) = (stored, hub.configuration.timestamp)
        let progress = min(9_999, Int(Double(end.bytes) / Double(bytes) * 10_000))
        let size = chunk.reduce(0) { $0 + $1.bytes.count }
        (stored, checkpoint) = try await patiently { [hub, next] in
            try await hub.perform(bytes: size) { transaction, view in
                let outcome = try step.stage(transaction, view, at: at)
                var (job, checkpoint) = (job, next)
                checkpoint.output.pending = outcome.output.text
                checkpoint.output.lines += outcome.output.count
                checkpoint.failed.pending = outcome.failed.text
                checkpoint.failed.lines += outcome.failed.count
                job.job.progress = progress
                job.job.updatedAt = at
                job.checkpoint = try checkpoint.text
                guard try transaction.update(job) else { throw EndedElsewhere() }
                return ((job, checkpoint), outcome.effects)
            }
        }
    }

    /// Writes the checkpoint's pending lines to the job's files.
    private mutating func write(_ output: ConfinedFile, _ failed: ConfinedFile) async throws {
        for (file, path) in [(output, \JobCheckpoint.output), (failed, \JobCheckpoint.failed)] {
            let (length, pending) = (checkpoint[keyPath: path].length, checkpoint[keyPath: path].pending)
            guard let pending else { continue }
            let bytes = Array(pending.utf8)
            try await JobFiles.blocking { try file.write(bytes, at: length) }
            checkpoint[keyPath: path].length += Int64(bytes.count)
            checkpoint[keyPath: path].pending = nil
        }
    }

    // MARK: - Notes

    /// Names of output properties in addition to the files' paths: the numbers of lines that succeeded and failed.
    static let succeeded = "SucceededCount"
    static let failedCount = "FailedCount"

    private mutating func end(_ status: NotificationHubJob.Status) async throws {
        stored.job.status = status
        try await note()
    }

    /// Stores the job's progress.
    private mutating func note() async throws {
        stored.job.updatedAt = hub.configuration.timestamp
        stored.checkpoint = try checkpoint.text
        let job = stored
        try await patiently { [hub] in
            try await hub.perform { transaction, _ in
                guard try transaction.update(job) else { throw EndedElsewhere() }
                return ((), [])
            }
        }
    }

    /// Retries an operation as long as the hub is overloaded or cannot write its file.
    private func patiently<Output>(_ work: @Sendable () async throws -> Output) async throws -> Output {
        var pause = Self.firstPause
        while true {
            do {
                return try await work()
            } catch let error as ProtocolError where error.status == 503 {
                try await Task.sleep(for: pause)
                pause = min(pause * 2, Self.longestPause)
            }
        }
    }
}

/// The job has ended while this node was running it.
private struct EndedElsewhere: Error {}

/// The reason why a job cannot be done.
struct JobFailure: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }
}

extension Hub {
    /// Number of registrations that clients of the protocol can see.
    var exportableCount: Int {
        status.registrationCounts.filter { $0.key != .stream }.values.reduce(0, +)
    }
}
