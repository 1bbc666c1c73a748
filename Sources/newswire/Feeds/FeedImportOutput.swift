import ArgumentParser
import FeedLists
import FeedPublisher
import Feeds
import HostSystem

/// Adds feeds to lists, and shows what became of each.
enum FeedImportOutput {
    static func add(
        _ document: OPMLDocument,
        to folder: FeedListFolder,
        category: String?,
        isTrusted: Bool = false,
        isDryRun: Bool
    ) throws -> FeedImportReport {
        do {
            let plan = try FeedImport(document, into: folder, category: category, isTrusted: isTrusted)
            if !isDryRun { try plan.write() }
            return plan.report
        } catch let error as FeedChoiceError {
            throw Failure(.usage, "\(error)")
        } catch let error as FeedListsError {
            for problem in error.problems { Console.error("\(problem)") }
            throw Failure(.failed, "nothing was written")
        } catch let error as FeedListShapeError {
            for line in error.lines { Console.print(line) }
            let hint = "add the lines above by hand, and run this again"
            throw Failure(.failed, "\(error); nothing was written", hint: hint)
        }
    }

    static func print(_ report: FeedImportReport, isDryRun: Bool, asJSON: Bool) throws {
        if asJSON { return Console.print(try JSON.line(Document(report, isDryRun: isDryRun))) }
        for feed in report.added {
            let title = feed.title.map { "  \($0)" } ?? ""
            show("\(isDryRun ? "to add" : "added")  \(feed.category)  \(feed.address)\(title)")
        }
        for feed in report.skipped { show("skipped  \(feed.address): already in \(feed.place)") }
        for outline in report.refused {
            let line = outline.line.map { "line \($0): " } ?? ""
            show("refused  \(line)\(outline.name): \(outline.reason)")
        }
        for note in report.notes { show("note  \(note)") }
        for file in report.files { show("\(isDryRun ? "to write" : "written")  \(file)") }
        let counts = [
            "\(report.added.count) \(isDryRun ? "to add" : "added")", "\(report.skipped.count) skipped",
            "\(report.refused.count) refused",
        ]
        Console.print(counts.joined(separator: ", "))
    }

    private static func show(_ line: String) { Console.print(TerminalText.safe(line)) }

    fileprivate struct Document: Encodable {
        struct Added: Encodable {
            let category: String
            let url: String
            let title: String?
            let file: String
        }

        struct Skipped: Encodable {
            let url: String
            let place: String
        }

        struct Refused: Encodable {
            let line: Int?
            let name: String
            let reason: String
        }

        let added: [Added]
        let skipped: [Skipped]
        let refused: [Refused]
        let notes: [String]
        let files: [String]
        let dryRun: Bool
    }
}

extension FeedImportOutput.Document {
    fileprivate init(_ report: FeedImportReport, isDryRun: Bool) {
        self.init(
            added: report.added.map { Added(category: $0.category, url: $0.address, title: $0.title, file: $0.file) },
            skipped: report.skipped.map { Skipped(url: $0.address, place: $0.place) },
            refused: report.refused.map { Refused(line: $0.line, name: $0.name, reason: $0.reason) },
            notes: report.notes,
            files: report.files,
            dryRun: isDryRun
        )
    }
}
