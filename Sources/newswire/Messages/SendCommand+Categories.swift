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
        try checkOptions(beside: "--category")
        guard hasText else { throw Failure(.usage, "--category needs a text", hint: "pass --message TEXT") }
        let wanted = names == Self.everyCategory ? nil : try CategoryChoice(typed: names)
        guard wanted?.categories.isEmpty != true else {
            throw Failure(.usage, "--category is empty", hint: "pass names separated by commas, or 'all'")
        }
        let (time, key) = (try time(), try key())
        let text = try properties().asStory(key: key)
        let settings = try configuration.load()
        let lists = try lists(settings)
        try await withHub(settings) { client in
            let known = try await client.listedCategories()
            let categories = try chosen(wanted, known: known, listed: lists.categories.map(\.text))
            let entries = try categories.map { category in
                let message = OutgoingMessage(
                    try Self.rendered(text, for: category, in: lists.list(of: category)).encoded(),
                    tags: category,
                    // The same in a repeat.
                    idempotencyKey: "\(key)/\(category.lowercased())"
                )
                return SendBatch.Entry(name: category, category: category, message: message)
            }
            let batch = SendBatch(option: "--category", entries: entries, key: key, isOurs: known != nil)
            try await send(batch, at: time, client)
        }
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
        values.set(.category, category)
        let template = try list?.template ?? InlineTemplate(parsing: FeedList.standardTemplate)
        let rendered = template.render(MessageProperties(values))
        values.set(.messageParam, rendered)
        if let main = list?.localization.main {
            if text[main.newsProperty] == nil { values.set(main.newsProperty, rendered) }
            if let title = text[.title], text[main.titleProperty] == nil { values.set(main.titleProperty, title) }
        }
        return MessageProperties(values)
    }
}

extension FeedLists {
    /// The list of a category, however it is spelled.
    func list(of category: String) -> FeedList? {
        lists.first { $0.category.folded == (try? Tag(category))?.folded }
    }
}
