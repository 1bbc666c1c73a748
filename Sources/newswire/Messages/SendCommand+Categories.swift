import FeedLists
import Foundation
import HostSystem
import HubClient
import HubProtocol
import Settings
import SubscriberAgent

// MARK: - One message for each category

extension SendCommand {
    /// The value of `--category` that means all categories.
    private static let everyCategory = "all"

    /// Sends one message to each category, with a text from the category's template, as the tutorial's server does
    /// (protocol §10).
    func send(toCategories names: String) async throws {
        try checkCategoryOptions()
        let wanted = names == Self.everyCategory ? nil : try CategoryChoice(typed: names)
        guard wanted?.categories.isEmpty != true else {
            throw Failure(.usage, "--category is empty", hint: "pass names separated by commas, or 'all'")
        }
        let (time, key) = (try time(), try key())
        let text = Self.oneStory(try properties(), key: key)
        let settings = try configuration.load()
        let lists = try lists(settings)
        let hub = try HubConnection(settings, PublisherSettings.connection)
        let string = try hub.sending()
        try await withHTTP { http in
            let client = try hub.client(string, http: http)
            let known = try await client.listedCategories()
            let categories = try chosen(wanted, known: known, listed: lists.categories.map(\.text))
            var unprinted: (any Error)?
            for (index, category) in categories.enumerated() {
                let message = OutgoingMessage(
                    try Self.rendered(text, for: category, in: lists.list(of: category)).encoded(),
                    tags: category,
                    // Each category's message has a key of its own, which is the same in a repeat.
                    idempotencyKey: "\(key)/\(category.lowercased())"
                )
                let rest = Remaining("--category", categories[index...], isFirst: index == 0, key: key)
                let sent: SentMessage
                do {
                    sent = try await send(message, at: time, client)
                } catch let error as UnconfirmedSend {
                    throw rest.unconfirmed(error, isOurs: known != nil)
                } catch {
                    throw rest.unsent(Failure(error))
                }
                // Continue with the other categories even if the output cannot be written.
                do { try report(sent, to: category) } catch { unprinted = unprinted ?? error }
            }
            if let unprinted { throw unprinted }
        }
    }

    private func checkCategoryOptions() throws {
        let others = [
            ("--tags", tags != nil), ("--format", format != nil), ("--payload", payload != nil),
            ("--device", device != nil), ("--test", test),
        ]
        if let other = others.first(where: \.1)?.0 {
            throw Failure(.usage, "--category and \(other) cannot be combined")
        }
        guard hasText else { throw Failure(.usage, "--category needs a text", hint: "pass --message TEXT") }
    }

    /// Returns the configured feed lists, or an empty list on a machine that only sends.
    func lists(_ settings: Settings) throws -> FeedLists {
        let directory = settings.value(PublisherSettings.feeds)
        let isNamed = settings.origin(of: PublisherSettings.feeds.entry) != nil
        guard isNamed || HostFile.exists(directory) else { return FeedLists([]) }
        do {
            return try FeedLists.load(directory: directory)
        } catch {
            if isNamed { throw error }
            // Unrelated files in the default directory must not delay breaking news.
            Console.warning("the feed lists in '\(directory)' cannot be read: the standard text is used")
            return FeedLists([])
        }
    }

    /// Returns the categories in the hub's spelling.
    ///
    /// For a hub without a list of categories every name is accepted, and `all` means the categories of the feed lists,
    /// else those of the tutorial.
    private func chosen(
        _ wanted: CategoryChoice?,
        known: [String]?,
        listed: [String]
    ) throws(AgentError) -> [String] {
        guard let wanted else { return known ?? (listed.isEmpty ? CategoryList.standard : listed) }
        guard let known else { return wanted.categories }
        return try wanted.checked(against: known).categories
    }

    /// Returns properties with the text of their category's template, which replaces an existing one.
    static func rendered(
        _ text: MessageProperties,
        for category: String,
        in list: FeedList?
    ) throws -> MessageProperties {
        var values = text.all
        values[.category] = category
        let template = try list?.template ?? InlineTemplate(parsing: FeedList.standardTemplate)
        values[.messageParam] = template.render(MessageProperties(values))
        if let main = list?.localization.main {
            values[main.newsProperty] = values[main.newsProperty] ?? values[.messageParam]
            values[main.titleProperty] = values[main.titleProperty] ?? values[.title]
        }
        return MessageProperties(values)
    }

    private func report(_ sent: SentMessage, to category: String) throws {
        if json { return try Console.write(JSON.line(sent.json(category: category))) }
        guard sent.preview == nil else { return Console.show(sent.shown) }
        let name = TerminalText.safe(category)
        try Console.write("\(sent.text)  \(name)")
        if sent.recipients?.total == 0 { Console.warning("nobody is registered for '\(name)'") }
    }
}

extension FeedLists {
    /// The list of a category, however it is spelled.
    func list(of category: String) -> FeedList? {
        lists.first { $0.category.folded == (try? Tag(category))?.folded }
    }
}

/// The messages that remain after a failed send; repeating the whole command would send to the others twice.
struct Remaining {
    /// The option that names them.
    let option: String
    let names: ArraySlice<String>
    /// True if nothing was sent yet.
    let isFirst: Bool
    let key: String

    init(_ option: String, _ names: ArraySlice<String>, isFirst: Bool, key: String) {
        (self.option, self.names, self.isFirst, self.key) = (option, names, isFirst, key)
    }

    /// Returns the failure if the hub certainly did not accept the message.
    func unsent(_ failure: Failure) -> Failure {
        if isFirst { return failure }
        return Failure(failure.status, "\(failure.text); not sent to \(Self.list(names))", hint: hint(names))
    }

    /// Returns the failure if the hub may have accepted the message.
    ///
    /// `isOurs` is true for a newswire hub, which supports idempotency keys.
    func unconfirmed(_ error: UnconfirmedSend, isOurs: Bool) -> Failure {
        let unsent = names.dropFirst()
        let first = names.first ?? ""
        let rest = unsent.isEmpty ? "" : "; not sent to \(Self.list(unsent))"
        let text = "; it is unknown whether the message was sent to \(first)\(rest)"
        if isOurs {
            let repeated = "repeat with \(option) '\(Self.list(names))' --idempotency-key \(key): nothing is sent twice"
            return error.failure(text, hint: repeated)
        }
        let look = "check whether \(first) got the message before you send it again"
        return error.failure(text, hint: unsent.isEmpty ? look : "\(look); \(hint(unsent))")
    }

    private static func list(_ names: ArraySlice<String>) -> String { names.joined(separator: ",") }

    private func hint(_ names: ArraySlice<String>) -> String {
        "send the rest with \(option) '\(Self.list(names))'"
    }
}
