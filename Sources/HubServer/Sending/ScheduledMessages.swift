import Foundation
import HubProtocol
import HubStore
import Synchronization

extension Hub {
    /// Messages of one hub that may wait for their time.
    static let maximumScheduled = 100_000
    /// Bytes that they may take in the file.
    static let maximumScheduledBytes = 256 << 20
    /// Messages that one commit releases, so that senders wait little.
    static let releasedAtOnce = 64

    /// - Throws: 403 when too much waits already.
    func checkRoom(for bytes: Int) throws(ProtocolError) {
        let load = state.withLock { $0.scheduled }
        guard load.messages < Self.maximumScheduled, load.bytes + bytes <= Self.maximumScheduledBytes else {
            throw .quotaExceeded(
                """
                \(load.messages) scheduled messages of \(load.bytes >> 20) MiB wait already, and a hub keeps \
                \(Self.maximumScheduled) and \(Self.maximumScheduledBytes >> 20) MiB: cancel some, or send this one later.
                """
            )
        }
    }

    /// Takes a scheduled message back; one that was taken back before stays so.
    ///
    /// - Throws: 404 for a message that is not known, 409 for one that was sent.
    func cancelScheduled(_ id: MessageID) async throws {
        let hub = record.id
        let at = configuration.nowMilliseconds
        _ = try await writer.perform(bytes: 0) { transaction -> ScheduledChange? in
            guard let message = try transaction.scheduledMessage(hub: hub, id: id) else {
                guard let sent = try transaction.sentMessage(hub: hub, id: id) else {
                    throw ProtocolError.notFound("There is no scheduled message '\(id)' here.")
                }
                let time = DeliveryInquiry.time(sent)
                throw ProtocolError.conflict("The message '\(id)' was sent at \(time) and cannot be taken back.")
            }
            guard message.canceledAt == nil else { return nil }
            try transaction.cancel(message, hub: hub, at: at)
            return ScheduledChange([message], nextDue: try transaction.nextDue(hub: hub))
        } apply: { change in
            if let change { self.state.withLock { $0.scheduled.remove(change) } }
        }
    }

    /// Releases messages whose time has come: each takes its place in the log now, and keeps its id.
    ///
    /// `now` is in milliseconds since 1970, by a clock that can be trusted.
    ///
    /// - Returns: Whether there may be more.
    func releaseDue(at now: Int64) async throws -> Bool {
        let hub = record.id
        let released = try await writer.perform(bytes: 0) { transaction -> (ScheduledChange, [Release]) in
            let due = try transaction.dueMessages(hub: hub, at: now, limit: Self.releasedAtOnce)
            let releases = try due.map { try self.release($0, at: now, transaction) }
            return (ScheduledChange(due, nextDue: try transaction.nextDue(hub: hub)), releases)
        } apply: { change, releases in
            self.state.withLock { $0.scheduled.remove(change) }
            for release in releases {
                switch release {
                case .readable(let appended): self.publish(appended)
                case .unreadable(let logged, let error):
                    self.noteUnreadable(logged, error)
                    self.state.withLock { state in
                        state.lastMessage = logged.sequence
                        state.advance(to: logged.sequence)
                    }
                }
            }
        }
        return released.0.messages == Self.releasedAtOnce
    }

    private enum Release: Sendable {
        case readable(Appended)
        /// It has its place in the log all the same, so that streams are told of a gap.
        case unreadable(LoggedMessage, any Error)
    }

    private func release(_ scheduled: ScheduledMessage, at: Int64, _ transaction: Transaction) throws -> Release {
        let record = scheduled.record
        let message = Result { try record.message }
        let targets = Result { try record.targets }
        var matched: Matched?
        if case .success(let message) = message, case .success(let targets) = targets {
            matched = try self.matched(by: message, targets, transaction)
        }
        let sequence = try transaction.appendMessage(
            record,
            hub: self.record.id,
            at: at,
            enqueuedAt: scheduled.scheduledAt,
            matched: matched?.counts
        )
        try transaction.forgetScheduled(scheduled)
        let logged = LoggedMessage(sequence: sequence, record: record)
        do {
            let routed = try RoutedMessage(logged)
            return .readable(Appended(message: routed, matched: matched ?? .nobody))
        } catch {
            return .unreadable(logged, error)
        }
    }
}

/// Messages that wait no longer.
struct ScheduledChange: Sendable {
    let messages: Int
    let bytes: Int
    /// Of those that are left.
    let nextDue: Int64?

    init(_ gone: [ScheduledMessage], nextDue: Int64?) {
        messages = gone.count
        bytes = gone.reduce(0) { $0 + $1.record.bytes }
        self.nextDue = nextDue
    }
}

extension ScheduledLoad {
    mutating func add(_ bytes: Int, dueAt: Int64) {
        messages += 1
        self.bytes += bytes
        nextDue = min(nextDue ?? dueAt, dueAt)
    }

    /// Messages that are being scheduled in the same commit are not in `change` yet, and come after it.
    mutating func remove(_ change: ScheduledChange) {
        messages -= change.messages
        bytes -= change.bytes
        nextDue = change.nextDue
    }
}
