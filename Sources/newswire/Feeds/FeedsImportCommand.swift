import ArgumentParser
import FeedLists
import FeedPublisher
import Feeds
import HostSystem
import OutboundHTTP
import Settings

struct FeedsImportCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "import",
        abstract: "Add the feeds of an OPML file to the feed lists.",
        discussion: """
            Each folder becomes a category; characters that a tag cannot contain become '_'. Feeds are appended to \
            their category's list, whose comments and order are kept, or written to a new file. Feeds that are already \
            in a list are skipped. Files and addresses of a private network are refused: a document cannot mark a feed \
            'local'. The keys for intervals, edits and corrections ('every', 'by-agreement', 'updates', 'corrections', \
            'retractions') are imported only with --trust, from your own export. Feeds in a folder without a name go \
            to the enclosing folder, else to --category.

            All lists are written, or none. Exits with 1 if a feed was refused or the document is incomplete; all \
            other feeds are imported.

            EXAMPLES
              newswire feeds import --dry-run subscriptions.opml
              newswire feeds import --category World https://example.org/feeds.opml
              newswire feeds import --trust feeds.opml
            """
    )

    @OptionGroup var configuration: ConfigurationOptions<FeedChangeFlags>

    @Argument(
        help: ArgumentHelp("The OPML document; '-' is standard input.", valueName: "file|url"),
        completion: .file(extensions: ["opml", "xml"])
    )
    var document: String

    @Option(
        help: ArgumentHelp("The category of feeds that are in no folder.", valueName: "name"),
        completion: .listedCategories
    )
    var category: String?

    @Flag(help: "Import all keys: the document is your own export.")
    var trust = false

    @Flag(help: "Show the changes, and write nothing.")
    var dryRun = false

    @Flag(help: "Print JSON.")
    var json = false

    func run() async throws {
        let settings = try configuration.load()
        let folder = try PublisherState.folder(settings)
        let (body, contentType) = try await source(settings)
        let opml: OPMLDocument
        do {
            opml = try OPMLReader.read(body, contentType: contentType)
        } catch {
            throw Failure(.failed, TerminalText.safe("no feed lists in '\(document)': \(error)"))
        }
        if let reason = opml.malformed {
            Console.warning(TerminalText.safe("'\(document)' is not well-formed, but was read: \(reason)"))
        }
        if !opml.isComplete { Console.warning("'\(document)' is truncated or over a limit: its end was not read") }
        let report = try FeedImportOutput.add(
            opml,
            to: folder,
            category: category,
            isTrusted: trust,
            isDryRun: dryRun
        )
        try FeedImportOutput.print(report, asJSON: json, isCut: !opml.isComplete)
    }

    private func source(_ settings: Settings) async throws -> (body: [UInt8], contentType: String?) {
        guard FeedAddress.isWeb(document) else {
            do {
                return (try FeedBatch.contents(of: document, limit: FeedReader.maximumBytes + 1), nil)
            } catch {
                throw Failure(.failed, "cannot read '\(document)': \(FeedBatch.reason(error))")
            }
        }
        var request = OutboundRequest(
            url: document,
            headers: [(name: "Accept", value: "text/x-opml, application/xml;q=0.9, text/xml;q=0.9, */*;q=0.1")],
            maximumBodyBytes: FeedReader.maximumBytes
        )
        request.keepsGzip = true
        let contact = settings.value(PublisherSettings.contact)
        let response = try await Program.fetch(request, contact: contact)
        return (response.body, response.headers.first("Content-Type"))
    }
}
