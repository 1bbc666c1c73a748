import ArgumentParser
import FeedLists
import Feeds
import HostSystem
import HubProtocol
import Settings

struct FeedSearchOptions: ParsableArguments {
    @Flag(help: "If a page links to no feed, try the usual addresses: /feed, /rss, /atom.xml, /index.xml, /feed.json.")
    var guess = false

    func candidates(of address: String, _ settings: Settings) async throws -> [FeedSearch.Candidate] {
        let contact = settings.value(PublisherSettings.contact)
        let guesses = guess
        return try await withHTTP(userAgent: Program.userAgent(contact: contact)) { http in
            try await untilStopped { try await FeedSearch(http: http).candidates(of: address, guesses: guesses) }
        }
    }

    /// Returns the failure of a search that found nothing.
    func failure(_ address: String) -> Failure {
        Failure(
            .failed,
            TerminalText.safe("'\(address)' links to no feed that can be read"),
            hint: guess ? nil : "pass --guess to try the usual addresses"
        )
    }
}

struct FeedsDiscoverCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "discover",
        abstract: "Find the feeds that a web page links to.",
        discussion: """
            Fetches the page and up to ten feeds that it links to, and shows the address, format, number of entries \
            and title of each. Exits with 1 if there is none.

            EXAMPLES
              newswire feeds discover https://example.org/
              newswire feeds discover --guess --json https://example.org/ | jq -r '.[].url'
            """
    )

    @OptionGroup var configuration: ConfigurationOptions<FeedContactFlags>
    @OptionGroup var search: FeedSearchOptions

    @Argument(help: ArgumentHelp("The page's address.", valueName: "url"))
    var address: String

    @Flag(help: "Print JSON.")
    var json = false

    func run() async throws {
        let found = try await search.candidates(of: address, try configuration.load())
        if json { Console.print(try JSON.line(found)) } else { found.forEach(Self.show) }
        if !found.contains(where: { $0.problem == nil }) { throw search.failure(address) }
    }

    private static func show(_ feed: FeedSearch.Candidate) {
        if let problem = feed.problem {
            return Console.warning(TerminalText.safe("the page links to '\(feed.address)': \(problem)"))
        }
        let count = feed.entries.map { Counted.text($0, "entry", "entries") }
        Console.show(.row(feed.address, feed.format, count, feed.title))
    }
}

struct FeedsAddCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "add",
        abstract: "Add a feed to a category's list, by its address or that of a page.",
        discussion: """
            Fetches the feed once, to check that it is a feed. If a page links to several feeds, the first is added \
            and the others are printed. A category without a list gets a new file.

            EXAMPLES
              newswire feeds add https://example.org/world.rss --category World
              newswire feeds add https://example.org/ --category World --dry-run
            """
    )

    @OptionGroup var configuration: ConfigurationOptions<FeedChangeFlags>
    @OptionGroup var search: FeedSearchOptions

    @Argument(help: ArgumentHelp("The address of the feed, or of a page that links to it.", valueName: "url"))
    var address: String

    @Option(help: ArgumentHelp("The category to add the feed to.", valueName: "name"), completion: .listedCategories)
    var category: String

    @Flag(help: "Show the changes, and write nothing.")
    var dryRun = false

    @Flag(help: "Print JSON.")
    var json = false

    func run() async throws {
        let settings = try configuration.load()
        let folder = try PublisherState.folder(settings)
        let feeds = try await search.candidates(of: address, settings).filter { $0.problem == nil }
        guard let feed = feeds.first else { throw search.failure(address) }
        for other in feeds.dropFirst() {
            Console.notice(TerminalText.safe("the page also links to '\(other.address)' \(other.title ?? "")"))
        }
        let outline = OPMLOutline([OPMLOutline.Attribute(.xmlURL, feed.address)])
        let document = OPMLDocument(title: nil, outlines: [outline])
        let report = try FeedImportOutput.add(document, to: folder, category: category, isDryRun: dryRun)
        try FeedImportOutput.print(report, asJSON: json)
    }
}
