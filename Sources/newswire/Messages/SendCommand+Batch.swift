import Foundation
import HostSystem
import HubClient
import HubProtocol
import Settings

// MARK: - Several messages by one command

/// Messages that one command sends one after the other: repeating the command as it was would send some of them twice.
struct SendBatch {
    struct Entry {
        /// Its name in the value of the option.
        let name: String
        let category: String?
        let message: OutgoingMessage
    }

    /// The option that names the messages.
    let option: String
    let entries: [Entry]
    /// The key of the command, from which each message has its own.
    let key: String
    /// True for a newswire hub, which supports idempotency keys.
    let isOurs: Bool

    /// Returns the failure if the hub certainly did not accept the message at `index`.
    fileprivate func unsent(_ failure: Failure, at index: Int) -> Failure {
        // Nothing was sent: the whole command can be repeated.
        if index == 0 { return failure }
        return Failure(failure.status, "\(failure.text); not sent for \(names(index...))", hint: hint(index...))
    }

    /// Returns the failure if the hub may have accepted the message at `index`.
    fileprivate func unconfirmed(_ error: UnconfirmedSend, at index: Int) -> Failure {
        let (first, isLast) = (entries[index].name, index == entries.count - 1)
        let rest = isLast ? "" : "; not sent for \(names((index + 1)...))"
        let text = "; it is unknown whether the message for \(first) was sent\(rest)"
        if isOurs { return error.failure(text, hint: "\(repeated(index...)): nothing is sent twice") }
        let look = "check whether \(first) got the message before you send it again"
        return error.failure(text, hint: isLast ? look : "\(look); \(hint((index + 1)...))")
    }

    private func hint(_ range: PartialRangeFrom<Int>) -> String { "for the rest, \(repeated(range))" }

    private func repeated(_ range: PartialRangeFrom<Int>) -> String {
        "repeat the command with \(option) '\(names(range))' --idempotency-key \(key)"
    }

    private func names(_ range: PartialRangeFrom<Int>) -> String { entries[range].map(\.name).joined(separator: ",") }
}

extension SendCommand {
    /// Sends the messages in their order, up to the first failure.
    func send(_ batch: SendBatch, at time: Date?, _ client: HubClient) async throws {
        var unprinted: (any Error)?
        for (index, entry) in batch.entries.enumerated() {
            let sent: SentMessage
            do {
                sent = try await send(entry.message, at: time, client)
            } catch let error as UnconfirmedSend {
                throw batch.unconfirmed(error, at: index)
            } catch {
                throw batch.unsent(Failure(error), at: index)
            }
            // Continue with the others even if the output cannot be written.
            do { try report(sent, of: entry) } catch { unprinted = unprinted ?? error }
        }
        if let unprinted { throw unprinted }
    }

    private func report(_ sent: SentMessage, of entry: SendBatch.Entry) throws {
        if json { return try Console.write(JSON.line(sent.json(category: entry.category))) }
        for line in sent.shown(entry.category).lines { try Console.write(line) }
        if sent.preview == nil { warnOfNobody(sent.recipients, entry.message.tags) }
    }

    /// Refuses the options that name recipients, or another message, beside `option`.
    func checkOptions(beside option: String, hint: String? = nil) throws {
        let others = [
            ("--tags", tags != nil), ("--category", category != nil), ("--format", format != nil),
            ("--payload", payload != nil), ("--device", device != nil), ("--test", test),
        ]
        if let other = others.first(where: { $0.0 != option && $0.1 })?.0 {
            throw Failure(.usage, "\(option) and \(other) cannot be combined", hint: hint)
        }
    }

    /// Calls `work` with a client of the configured hub.
    func withHub(_ settings: Settings, _ work: (HubClient) async throws -> Void) async throws {
        let hub = try HubConnection(settings, PublisherSettings.connection)
        let string = try hub.sending()
        try await withHTTP { http in try await work(try hub.client(string, http: http)) }
    }
}
