import Formats
import Foundation
import HubProtocol
import PushEmulator
import WebPages

/// The hub's reports on messages as text.
enum MessageText {
    private static let words = ReportWords.terminal

    /// Returns a message as one row.
    static func row(_ message: MessageReport) -> [String?] {
        let title = words.title(message)
        return [
            message.acceptedAt, message.id.text, message.state.rawValue, words.matched(message),
            (message.format.map { "\($0) " } ?? "") + words.audience(message), title.isEmpty ? nil : title,
        ]
    }

    /// Returns all facts about a message, and about the device that was asked about.
    static func facts(_ message: MessageReport) -> [ReportFact] {
        words.facts(message) + words.times(message) + (message.device.map(words.facts) ?? [])
    }

    /// Returns a device that did not get a message, as one row.
    static func row(_ target: FailedTargets.Target) -> [String?] {
        let name = target.installation?.text ?? target.handle ?? target.registration?.text ?? "gone"
        return ["\(target.platform)", name, target.outcome, target.reason]
    }

    /// Returns a message as an emulated push service received it.
    static func lines(_ delivery: InboxDocument.Delivery) -> [String] {
        var lines = ["\(delivery.receivedAt)  \(delivery.service)  \(delivery.messageID)"]
        if delivery.isReplaced { lines.append("  replaced by a later message with the same key") }
        lines += delivery.headers.map { "  \($0.name): \($0.value)" }
        return lines + ["  \(delivery.plaintext ?? delivery.body ?? delivery.bodyBase64 ?? "")"]
    }
}

/// The telemetry of a message at a hub other than newswire.
extension NotificationDetails {
    /// Numbers of targets by outcome, of each platform.
    private var counts: [String: [String: Int]] {
        outcomes.reduce(into: [:]) { all, platform in
            all[platform.key.rawValue] = platform.value.reduce(into: [:]) { $0[$1.key.rawValue] = $1.value }
        }
    }

    var facts: [ReportFact] {
        let facts = [
            ReportFact("Message", id.text), ReportFact("State", state.rawValue),
            ReportFact("Accepted", enqueueTime.map(ISODateTime.format)),
            ReportFact("Started", startTime.map(ISODateTime.format)),
            ReportFact("Ended", endTime.map(ISODateTime.format)), ReportFact("For", tags ?? "everybody"),
        ]
        let counts = counts.sorted { $0.key < $1.key }.map { ReportFact($0, ReportWords.terminal.counts($1)) }
        return (facts + counts).compactMap(\.self)
    }

    var json: JSONText {
        [
            "endTime": JSONText(endTime.map(ISODateTime.format)),
            "enqueueTime": JSONText(enqueueTime.map(ISODateTime.format)), "id": JSONText(id.text),
            "outcomes": JSONText(sorted: counts.mapValues { JSONText(sorted: $0.mapValues { JSONText($0) }) }),
            "startTime": JSONText(startTime.map(ISODateTime.format)), "state": JSONText(state.rawValue),
            "tags": JSONText(tags),
        ]
    }
}
