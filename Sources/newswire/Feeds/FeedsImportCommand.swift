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
            Each folder is a category; characters that a tag cannot hold become '_'. Feeds go to the end of their category's \
            list, whose comments and order stay as they are, or into a new file. Feeds that are in a list already are \
            skipped. Files and addresses of a private network are refused: a document never makes a feed 'local'. The keys \
            for intervals, edits and corrections ('every', 'by-agreement', 'updates', 'corrections', 'retractions') are \
            taken from your own export only, with --trust. Feeds of a folder without a name go to the folder around it, \
            else to --category.

            All lists are written, or none. Ends with 1 if a feed was refused or the document is cut; the others are taken nevertheless.

            EXAMPLES
              newswire feeds import --dry-run subscriptions.opml
              newswire feeds import --category World https://example.org/feeds.opml
              newswire feeds import --trust feeds.opml
            """
    )

    @OptionGroup var lists: FeedFolderOptions

    @Argument(help: ArgumentHelp("The OPML; standard input for '-'.", valueName: "file|url"))
    var document: String

    @Option(help: ArgumentHelp("The category of feeds that are in no folder.", valueName: "name"))
    var category: String?

    @Option(PublisherSettings.contact)
    var contact: String?

    @Flag(help: "Take all keys: the document is your own export.")
    var trust = false

    @Flag(help: "Show what would be done, and write nothing.")
    var dryRun = false

    @Flag(help: "Print JSON.")
    var json = false

    func run() async throws {
        let settings = try lists.configuration.load()
        let folder = try lists.folder(settings)
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
        if !opml.isComplete { Console.warning("'\(document)' is cut, or over a limit: what follows is missing") }
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
        guard document.hasPrefix("http://") || document.hasPrefix("https://") else {
            do {
                return (try FeedBatch.contents(of: document, limit: FeedReader.maximumBytes + 1), nil)
            } catch {
                throw Failure(.failed, "cannot read '\(document)': \(FeedBatch.reason(error))")
            }
        }
        let request = OutboundRequest(
            url: document,
            headers: [(name: "Accept", value: "text/x-opml, application/xml;q=0.9, text/xml;q=0.9, */*;q=0.1")],
            maximumBodyBytes: FeedReader.maximumBytes
        )
        let contact = settings.value(PublisherSettings.contact, flag: contact)
        let response = try await Program.fetch(request, contact: contact)
        return (response.body, response.headers.first("Content-Type"))
    }
}
