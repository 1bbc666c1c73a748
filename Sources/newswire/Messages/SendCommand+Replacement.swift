import Formats
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
                .distinct()
        )
        guard !replacement.ids.isEmpty else {
            throw Failure(
                .usage,
                "\(replacement.option) is empty",
                hint: "pass ids; 'newswire messages list' shows them"
            )
        }
        try checkOptions(
            beside: replacement.option,
            hint: "it has the recipients of the message that it replaces"
        )
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
        let changes = replacement.status == .correction ? try corrections() : MessageProperties([:])
        let (time, key) = (try time(), try key())
        let settings = try configuration.load()
        let lists = try lists(settings)
        try await withHub(settings) { client in
            // All are read before anything is sent.
            var originals: [SentStory] = []
            for id in replacement.ids { originals.append(try await sentStory(id, client)) }
            guard Set(originals.map(\.story)).count == 1 else {
                throw Failure(.usage, "these messages are of different stories", hint: "replace one story at a time")
            }
            let entries = try originals.map { original in
                guard var text = original.replaced(by: changes, replacement.status, key: key) else {
                    throw Failure(
                        .usage,
                        "message '\(original.id)' has no text in the main language",
                        hint: "pass --title TEXT: corrections are in the main language"
                    )
                }
                let category = text[.category]
                // Without a main text there is nothing to write into the category's template.
                if let category, text[.title] != nil {
                    text = try Self.rendered(text, for: category, in: lists.list(of: category))
                }
                let message = OutgoingMessage(
                    text.encoded(),
                    tags: original.tags,
                    idempotencyKey: "\(key)/\(original.id)"
                )
                return SendBatch.Entry(name: original.id.text, category: category, message: message)
            }
            let batch = SendBatch(option: replacement.option, entries: entries, key: key, isOurs: true)
            try await send(batch, at: time, client)
        }
    }

    private func corrections() throws -> MessageProperties {
        let changes = try properties()
        if let name = SentStory.fixed.first(where: { changes[$0] != nil }) {
            throw Failure(
                .usage,
                "--correct and --property \(name)=… cannot be combined",
                hint: "a correction has the category and the story of the message that it replaces"
            )
        }
        return changes
    }

    /// Asks the hub for a message.
    ///
    /// - Throws: ``Failure`` for a message that cannot be replaced.
    private func sentStory(_ text: String, _ client: HubClient) async throws -> SentStory {
        let id = try MessageID(argument: text)
        do {
            return try SentStory(try await client.report(on: id, device: nil))
        } catch let refusal as SentStory.Refusal {
            let hint: String? =
                switch refusal {
                case .scheduled: "cancel it with 'newswire messages cancel \(id)'"
                case .unknown: "update the hub"
                case .noStory: "send another message; those that 'newswire send' sends with a text can be corrected"
                case .canceled, .withheld, .native, .test: nil
                }
            throw Failure(.failed, "message '\(id)' \(refusal), and cannot be replaced", hint: hint)
        } catch let error as HubError {
            switch error {
            case .unsupported: throw Failure(.failed, "\(error)")
            case .refused(404, _, _, _):
                throw Failure(
                    .failed,
                    "\(error)",
                    hint: "only a newswire hub can replace messages; 'newswire messages list' shows those that it keeps"
                )
            case .refused, .unreachable, .malformedReply, .cancelled: throw error
            }
        }
    }
}
