import ArgumentParser
import Formats
import Foundation
import HostSystem
import HubClient
import HubProtocol
import NetworkAddresses
import WebPages

// MARK: - The message

extension SendCommand {
    /// Returns the message that the options describe, checked as far as possible without a hub.
    func outgoing() throws -> OutgoingMessage {
        let format = try messageFormat()
        try checkTags()
        if device != nil {
            guard tags == nil else {
                throw Failure(
                    .usage,
                    "--device and --tags cannot be combined",
                    hint: "--device sends to one handle, --tags to all devices that match"
                )
            }
            guard format != .template else {
                throw Failure(
                    .usage,
                    "--device needs --format and --payload: a handle has no template",
                    hint: "to reach one installation by its template, pass --tags '$InstallationId:{ID}'"
                )
            }
        }
        if at != nil, test { throw Failure(.usage, "--at and --test cannot be combined") }
        if dryRun, test { throw Failure(.usage, "--dry-run and --test cannot be combined") }
        let key = try key()
        return OutgoingMessage(
            try body(format, key),
            format: format,
            tags: tags,
            device: device,
            idempotencyKey: key
        )
    }

    /// Maximum bytes of a key on the command line; the hub accepts 256 characters, and a category may be appended.
    private static let maximumKey = 64

    /// Returns the key that prevents a repeat of this command from sending twice.
    func key() throws -> String {
        guard let idempotencyKey else { return OutgoingMessage.newIdempotencyKey() }
        guard (1...Self.maximumKey).contains(idempotencyKey.utf8.count),
            idempotencyKey.utf8.allSatisfy({ (0x21...0x7E).contains($0) })
        else {
            throw Failure(
                .usage,
                "the idempotency key is not valid: use 1 to \(Self.maximumKey) letters, digits and punctuation marks"
            )
        }
        return idempotencyKey
    }

    func time() throws -> Date? {
        guard let at else { return nil }
        do {
            let time = try ScheduleTime(parsing: at)
            try time.check(now: Date())
            return time.date
        } catch {
            throw Failure(
                .usage,
                "--at '\(at)' is not within the next seven days",
                hint: Self.timeHint(now: Date())
            )
        }
    }

    /// Returns the hint with the time of tomorrow: a fixed one would be refused, too.
    private static func timeHint(now: Date) -> String {
        let day = ISODateTime.formatSeconds(now.addingTimeInterval(86_400)).prefix(10)
        return "pass it in UTC, such as \(day)T06:00:00Z, or with a zone: \(day)T06:00:00+02:00"
    }

    private func messageFormat() throws -> MessageFormat {
        guard let format else { return .template }
        let wanted = MessageFormat(rawValue: format)
        guard let known = MessageFormat.known.first(where: { $0 == wanted }) else {
            throw Failure(unknown: "format", format, known: MessageFormat.known.map(\.rawValue))
        }
        return known
    }

    private func body(_ format: MessageFormat, _ key: String) throws -> [UInt8] {
        guard let payload else {
            guard format == .template else {
                throw Failure(
                    .usage,
                    "a message of format '\(format)' needs a payload",
                    hint: "pass --payload FILE with the platform's own payload"
                )
            }
            let values = try properties()
            try checkRecipients()
            return (hasText ? values.asStory(key: key) : values).encoded()
        }
        guard !hasText, link == nil, urgency == nil, property.isEmpty else {
            throw Failure(
                .usage,
                "--payload cannot be combined with --message, --title, --link, --urgency and --property"
            )
        }
        let bytes: [UInt8]
        do {
            bytes = try PrivateFile.bytes(payload, limit: Message.maximumBytes)
        } catch {
            throw Failure(.usage, "\(error)", hint: "pass --payload FILE of at most \(Message.maximumBytes) bytes")
        }
        // Otherwise the hub checks it, which may accept more than ours.
        if dryRun, format == .template {
            do {
                _ = try MessageProperties(json: bytes)
            } catch {
                throw Failure(.usage, "'\(payload)' cannot be sent: \(error)")
            }
        }
        return bytes
    }

    /// Refuses properties alone for everybody: a text was forgotten, and every device would show an empty message.
    private func checkRecipients() throws {
        guard !hasText, tags == nil else { return }
        throw Failure(
            .usage,
            "there is no text, and the message would go to everybody",
            hint: "pass --message TEXT, or the recipients of these properties with --tags EXPRESSION"
        )
    }

    /// Refuses empty tags: an unset variable in a script must not send a message to everybody.
    private func checkTags() throws {
        guard let tags else { return }
        if tags.allSatisfy(\.isWhitespace) {
            throw Failure(.usage, "--tags is empty", hint: "omit --tags to send to everybody")
        }
        if tags.contains(",") {
            let either = tags.split(separator: ",").map { $0.trimmingCharacters(in: .whitespaces) }
            throw Failure(
                .usage,
                "--tags '\(tags)' is not a valid tag expression",
                hint: "write '\(either.joined(separator: " || "))' for devices that have any of these tags"
            )
        }
        do {
            // Only the hub knows its limits for expressions.
            _ = try TagExpression(parsing: tags, limits: .stored)
        } catch {
            throw Failure(.usage, "--tags '\(tags)': \(error)")
        }
    }

    func properties() throws -> MessageProperties {
        var values: [MessageProperty: String] = [:]
        for text in property {
            let parts = text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
            guard parts.count == 2, !parts[0].isEmpty else {
                throw Failure(.usage, "--property '\(text)' is not of the form name=value")
            }
            values.set(MessageProperty(rawValue: parts[0]), parts[1])
        }
        for (flag, text) in [("--message", message), ("--title", title)] where text?.allSatisfy(\.isWhitespace) == true
        {
            throw Failure(.usage, "\(flag) is empty", hint: "pass a text")
        }
        if let text = message ?? title {
            let given = MessageProperties(values)
            if message != nil || given[.messageParam] == nil { values.set(.messageParam, text) }
            if title != nil || given[.title] == nil { values.set(.title, title ?? text) }
            // A category's template has the title only, and pages and phones show both.
            if title != nil, let message, given[.summary] == nil { values.set(.summary, message) }
        }
        if let link {
            guard let link = WebLink(link) else {
                throw Failure(
                    .usage,
                    "--link '\(link)' is not a web address",
                    hint: "pass one such as https://example.org/"
                )
            }
            values.set(.link, link.text)
        }
        if let urgency { values.set(.urgency, urgency.rawValue) }
        guard !values.isEmpty else {
            throw Failure(
                .usage,
                "there is nothing to send",
                hint: "pass --message TEXT, or --property NAME=VALUE with --tags EXPRESSION"
            )
        }
        do {
            return try MessageProperties(json: MessageProperties(values).encoded())
        } catch {
            throw Failure(.usage, "the message cannot be sent: \(error)")
        }
    }
}

extension MessageUrgency: ExpressibleByArgument {}

extension SendCommand {
    /// True if the message has a text for people, and not only properties.
    var hasText: Bool { message != nil || title != nil }
}

// MARK: - The outcome

/// The hub's answer to a send.
struct SentMessage {
    var id: MessageID?
    /// Numbers of recipients; `nil` if the hub does not report them, and for a direct send.
    var recipients: RecipientCounts?
    var scheduledFor: Date?
    /// The outcome of a test send.
    var outcome: NotificationOutcome?
    /// The message, if it was only shown.
    var preview: OutgoingMessage?

    /// The answer in JSON, with the message's category if `--category` was passed.
    func json(category: String? = nil) -> JSONText {
        if let preview { return preview.json(category: category, recipients, scheduledFor) }
        return [
            "category": JSONText(category), "failure": outcome.map { JSONText($0.failure) },
            "id": JSONText(id?.text ?? ""),
            "recipients": recipients?.json,
            "results": outcome.map { JSONText(array: $0.results.map(Self.json)) },
            "scheduledFor": JSONText(scheduledFor.map(ISODateTime.format)),
            "success": outcome.map { JSONText($0.success) },
        ]
    }

    private static func json(_ result: RegistrationResult) -> JSONText {
        [
            "handle": JSONText(result.pnsHandle), "outcome": JSONText(result.outcome),
            "platform": JSONText(result.applicationPlatform), "registration": JSONText(result.registrationID),
        ]
    }

    /// Returns the text for people: a line, with the message's category if there is one, or the message that was not
    /// sent.
    func shown(_ category: String? = nil) -> Output {
        if let preview { return .lines(preview.preview(recipients, scheduledFor)) }
        return .row("\(scheduledFor == nil ? "sent" : "scheduled") \(id?.text ?? "")", category)
    }
}

extension RecipientCounts {
    fileprivate var json: JSONText { JSONText(sorted: platforms.mapValues { JSONText($0) }) }
}

extension OutgoingMessage {
    /// Its properties by name; `nil` for a message in another format.
    private var properties: [String: String]? {
        format == .template ? (try? MessageProperties(json: body))?.texts : nil
    }

    fileprivate func json(category: String?, _ recipients: RecipientCounts?, _ time: Date?) -> JSONText {
        [
            "category": JSONText(category), "device": JSONText(device), "format": JSONText(format.rawValue),
            "properties": properties.map { JSONText(sorted: $0.mapValues { JSONText($0) }) },
            "recipients": recipients?.json, "scheduledFor": JSONText(time.map(ISODateTime.format)),
            "tags": JSONText(tags),
        ]
    }

    /// The message for people: its recipients, and its properties as `--property` accepts them.
    fileprivate func preview(_ recipients: RecipientCounts?, _ time: Date?) -> [String] {
        let facts: [ReportFact?] = [
            ReportFact("Recipients", device ?? tags ?? "everybody"),
            ReportFact("Time", time.map(ISODateTime.format)),
            ReportFact("Devices", recipients.map { ReportWords.terminal.counts($0.platforms, none: "nobody") }),
            format == .template
                ? nil : ReportFact("Payload", "\(Counted.text(body.count, "byte")) of format \(format)"),
        ]
        return Output.facts(facts.compactMap(\.self)).lines
            + (properties ?? [:]).sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }
    }
}

extension SendCommand {
    func report(_ sent: SentMessage) throws {
        Console.show(sent.json(), asJSON: json, sent.shown())
        if !json, sent.preview == nil {
            if let time = sent.scheduledFor {
                Console.notice("it will be sent at \(ISODateTime.format(time)); 'newswire messages cancel' cancels it")
            }
            tell(sent.recipients)
        }
        guard let outcome = sent.outcome else { return }
        if !json {
            let rows = outcome.results.map { result in
                [result.applicationPlatform + (result.pnsHandle.isEmpty ? "" : " \(result.pnsHandle)"), result.outcome]
            }
            Console.show(.rows(rows))
            if outcome.results.isEmpty { warnOfNobody(tags) }
        }
        if outcome.success == 0, outcome.failure > 0 {
            throw Failure(.failed, "no device of the test got the message")
        }
    }

    private func tell(_ counts: RecipientCounts?) {
        guard let counts else { return }
        warnOfNobody(counts, tags)
        let streams = counts.platforms[Platform.stream.rawValue] ?? 0
        if streams > 0 { Console.notice("for agents: \(streams)") }
        let others = counts.platforms.filter { $0.key != Platform.stream.rawValue }
        guard !others.isEmpty else { return }
        let named = ReportWords.terminal.counts(others)
        Console.notice("for push services, if the hub has their credentials: \(named)")
    }

    func warnOfNobody(_ counts: RecipientCounts?, _ tags: String?) {
        if counts?.total == 0 { warnOfNobody(tags) }
    }

    private func warnOfNobody(_ tags: String?) {
        Console.warning("nobody is registered for \(tags.map { "'\($0)'" } ?? "anything")")
    }
}
