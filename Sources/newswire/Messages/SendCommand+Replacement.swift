import Foundation
import HostSystem
import HubClient
import HubProtocol
import Settings

// MARK: - Corrections and withdrawals

/// The options that replace sent messages.
struct Replacement {
    let status: MessageStatus
    /// The option that names the messages.
    let option: String
    let ids: [String]
}

extension SendCommand {
    /// Returns what `--correct` or `--withdraw` replaces; `nil` without them.
    func replacement() throws -> Replacement? {
        guard let names = correct ?? withdraw else { return nil }
        guard correct == nil || withdraw == nil else {
            throw Failure(.usage, "--correct and --withdraw cannot be combined")
        }
        let replacement = Replacement(
            status: correct == nil ? .withdrawn : .correction,
            option: correct == nil ? "--withdraw" : "--correct",
            ids: names.split(separator: ",").map { $0.trimmingCharacters(in: .whitespaces) }.filter { !$0.isEmpty }
        )
        guard !replacement.ids.isEmpty else {
            throw Failure(
                .usage,
                "\(replacement.option) is empty",
                hint: "pass ids; 'newswire messages list' shows them"
            )
        }
        let recipients = [
            ("--tags", tags != nil), ("--category", category != nil), ("--format", format != nil),
            ("--payload", payload != nil), ("--device", device != nil), ("--test", test),
        ]
        if let other = recipients.first(where: \.1)?.0 {
            throw Failure(
                .usage,
                "\(replacement.option) and \(other) cannot be combined",
                hint: "it has the recipients of the message that it replaces"
            )
        }
        let changes = hasText || link != nil || urgency != nil || !property.isEmpty
        if correct != nil, !changes {
            throw Failure(
                .usage,
                "there is nothing to correct",
                hint: "pass --title TEXT, --message TEXT or --link URL"
            )
        }
        if withdraw != nil, changes {
            throw Failure(
                .usage,
                "--withdraw has the title of the message, and takes no text",
                hint: "to explain it, correct the message first, or send another one"
            )
        }
        return replacement
    }

    /// Sends a later version of a story to the recipients of its messages.
    ///
    /// One story can have several messages, one for each of its categories.
    func send(_ replacement: Replacement) async throws {
        let changes = replacement.status == .correction ? try properties() : MessageProperties([:])
        let (time, key) = (try time(), try key())
        let settings = try configuration.load()
        let lists = try lists(settings)
        let hub = try HubConnection(settings, PublisherSettings.connection)
        let string = try hub.sending()
        try await withHTTP { http in
            let client = try hub.client(string, http: http)
            // All are read before anything is sent.
            var originals: [SentStory] = []
            for id in replacement.ids { originals.append(try await SentStory(id, client)) }
            guard Set(originals.map(\.story)).count == 1 else {
                throw Failure(.usage, "these messages are of different stories", hint: "replace one story at a time")
            }
            for (index, original) in originals.enumerated() {
                var values = original.replaced(by: changes, replacement.status)
                values[.version] = StoryName.of("sent version", key)
                var text = MessageProperties(values)
                if let category = values[.category] {
                    text = try Self.rendered(text, for: category, in: lists.list(of: category))
                }
                let message = OutgoingMessage(
                    text.encoded(),
                    tags: original.tags,
                    idempotencyKey: "\(key)/\(original.id)"
                )
                let rest = Remaining(
                    replacement.option,
                    replacement.ids[index...],
                    isFirst: index == 0,
                    key: key
                )
                do {
                    try report(try await send(message, at: time, client))
                } catch let error as UnconfirmedSend {
                    throw rest.unconfirmed(error, isOurs: true)
                } catch {
                    throw rest.unsent(Failure(error))
                }
            }
        }
    }
}

/// A message that was sent, and can be replaced.
private struct SentStory {
    let id: MessageID
    /// The expression for its recipients; `nil` for everybody.
    let tags: String?
    let story: String
    private let properties: MessageProperties

    /// Asks the hub for a message.
    ///
    /// - Throws: ``Failure`` for a message that cannot be replaced.
    init(_ text: String, _ client: HubClient) async throws {
        id = try MessageID(argument: text)
        let report: MessageReport
        do {
            report = try await client.report(on: id, device: nil)
        } catch {
            switch error {
            case .unsupported: throw Failure(.failed, "\(error)")
            case .refused(404, _, _, _):
                throw Failure(.failed, "\(error)", hint: "'newswire messages list' shows the messages of this hub")
            case .refused, .unreachable, .malformedReply, .cancelled: throw error
            }
        }
        let refusal: String? =
            switch (report.state, report.withheld, report.format) {
            case (.scheduled, _, _): "has not been sent yet"
            case (.canceled, _, _): "was cancelled before it was sent"
            case (_, .some, _): "was sent to persons or devices, or is secret"
            case (_, _, .some(let format)): "is of format '\(format)': only messages for templates have a story"
            default: report.isTest == true ? "was a test" : nil
            }
        if let refusal {
            let hint = report.state == .scheduled ? "cancel it with 'newswire messages cancel \(id)'" : nil
            throw Failure(.failed, "message '\(id)' \(refusal), and cannot be replaced", hint: hint)
        }
        guard let properties = report.properties else {
            throw Failure(.failed, "this hub does not show the properties of messages", hint: "update the hub")
        }
        self.properties = MessageProperties(
            Dictionary(uniqueKeysWithValues: properties.map { (MessageProperty(rawValue: $0.key), $0.value) })
        )
        guard let story = self.properties[.story], !story.isEmpty else {
            throw Failure(
                .failed,
                "message '\(id)' names no story, and cannot be replaced",
                hint: "send another message; those that 'newswire send' sends with a text can be corrected"
            )
        }
        (self.story, tags) = (story, report.tags)
    }

    /// The properties that a later version keeps: those that say what the story is, and no texts in other languages.
    private static let kept: [MessageProperty] = [
        .category, .feed, .alsoFrom, .author, .published, .image, .link, .story,
    ]
    /// The texts, which a correction of something else keeps.
    private static let texts: [MessageProperty] = [.title, .summary, .messageParam]

    /// Returns the properties of a later version.
    func replaced(by changes: MessageProperties, _ status: MessageStatus) -> [MessageProperty: String] {
        var values: [MessageProperty: String] = [:]
        for name in Self.kept { values[name] = properties[name] }
        let isNewText = changes[.title] != nil
        if status == .correction {
            values[.urgency] = properties[.urgency]
            if !isNewText { for name in Self.texts { values[name] = properties[name] } }
        }
        values.merge(changes.all) { $1 }
        let title = changes[.title] ?? properties[.title] ?? properties[.messageParam] ?? ""
        values[.title] = status.marking(title)
        // A text that is the title is marked as the title is.
        let text = values[.messageParam] ?? title
        values[.messageParam] = text == title ? values[.title] : text
        values[.status] = status.rawValue
        return values
    }
}
