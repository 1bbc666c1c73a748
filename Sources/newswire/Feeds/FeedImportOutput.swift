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
        try Console.show(report, asJSON: asJSON, .rows(rows(report)))
        for hint in FeedImportHint.allCases where report.hints.contains(hint) { Console.hint(Failure.text(hint)) }
        if !report.refused.isEmpty || isCut { throw ExitCode(ExitStatus.failed.rawValue) }
    }

    private static func rows(_ report: FeedImportReport) -> [[String?]] {
        let (added, written) = report.dryRun ? ("to add", "to write") : ("added", "written")
        let counts = [
            "\(report.added.count) \(added)", "\(report.skipped.count) skipped", "\(report.refused.count) refused",
        ]
        return report.added.map { [added, $0.category, $0.url, $0.title] }
            + report.skipped.map { ["skipped", "\($0.url): already in \($0.place)"] }
            + report.refused.map { outline in
                ["refused", "\(outline.line.map { "line \($0): " } ?? "")\(outline.name): \(outline.reason)"]
            }
            + report.notes.map { ["note", $0] } + report.files.map { [written, $0] }
            + [[counts.joined(separator: ", ")]]
    }
}
