import ArgumentParser
import FeedLists
import Feeds
import HostSystem

/// Adds feeds to lists, and prints the outcome of each.
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
            var report = plan.report
            report.dryRun = isDryRun
            return report
        } catch let error as FeedListsError {
            for problem in error.problems { Console.error("\(problem)") }
            throw Failure(.failed, "nothing was written")
        } catch let error as FeedListShapeError {
            for line in error.lines { Console.print(line) }
            let hint = "add the lines above by hand, and run this again"
            throw Failure(.failed, "\(error); nothing was written", hint: hint)
        }
    }

    /// Prints the report, and exits with 1 if feeds were refused or `isCut` is true.
    static func print(_ report: FeedImportReport, asJSON: Bool, isCut: Bool = false) throws {
        if asJSON { Console.print(try JSON.line(report)) } else { print(report) }
        for hint in FeedImportHint.allCases where report.hints.contains(hint) { Console.hint(Failure.text(hint)) }
        if !report.refused.isEmpty || isCut { throw ExitCode(ExitStatus.failed.rawValue) }
    }

    private static func print(_ report: FeedImportReport) {
        let isDryRun = report.dryRun
        for feed in report.added {
            let title = feed.title.map { "  \($0)" } ?? ""
            show("\(isDryRun ? "to add" : "added")  \(feed.category)  \(feed.url)\(title)")
        }
        for feed in report.skipped { show("skipped  \(feed.url): already in \(feed.place)") }
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
}
