import FeedLists
import FeedPublisher
import Feeds
import Foundation
import HostSystem

/// The feed lists of a setup: those that take part, those that do not, and an OPML file whose feeds are added.
struct SetupFeeds {
    /// A list with this ending is not read; it can take part again.
    private static let ending = ".off"

    private struct List {
        let file: String
        let category: String
        let isOn: Bool
    }

    /// A file to be moved, or copied if it belongs to the package.
    private struct Step {
        let source: String
        let target: String
        let isCopy: Bool

        var line: String { "\(isCopy ? "copy" : "rename") '\(source)' to '\(target)'" }
    }

    let directory: String
    private let lists: [List]
    /// True if the lists are those of the package, in another directory.
    private let isCopied: Bool
    private var steps: [Step] = []
    private var document: OPMLDocument?

    /// Reads the lists in `directory`; if there is none, those that `installed` has are copied.
    ///
    /// - Throws: `FeedListsError` for lists that cannot be read.
    init(directory: String, installed: String) throws {
        self.directory = directory
        isCopied = !HostFile.exists(directory) && directory != installed && HostFile.exists(installed)
        let source = isCopied ? installed : directory
        let on = try FeedListFolder.load(directory: source).lists.lists.map {
            List(file: $0.file, category: "\($0.category)", isOn: true)
        }
        let names = (try? FileManager.default.contentsOfDirectory(atPath: source)) ?? []
        let off: [List] = names.sorted().filter { $0.hasSuffix(".yaml\(Self.ending)") }.compactMap { name in
            let file = "\(source)/\(name)"
            // A list that cannot be read does not take part, whatever is wrong with it.
            guard let text = try? PrivateFile.read(file, limit: 1 << 20),
                let list = try? FeedLists.parse([(file, text)]).lists.first
            else { return nil }
            return List(file: file, category: "\(list.category)", isOn: false)
        }
        lists = on + off
    }

    /// The categories whose lists take part.
    var categories: [String] { Set(lists.filter(\.isOn).map(\.category)).sorted() }

    /// Decides what to do; changes nothing yet.
    ///
    /// - Throws: ``Failure`` for a category without a list, and for a document that cannot be read.
    mutating func plan(_ answer: SetupAnswers.Feeds) throws {
        var wanted = Set(categories)
        switch answer {
        case .present: break
        case .document(let path):
            do {
                let body = try FeedBatch.contents(of: path, limit: FeedReader.maximumBytes + 1)
                document = try OPMLReader.read(body, contentType: nil)
            } catch let error as OPMLError {
                throw Failure(.usage, TerminalText.safe("no feed lists in '\(path)': \(error)"))
            } catch {
                throw Failure(.usage, "cannot read '\(path)': \(FeedBatch.reason(error))")
            }
            _ = try importing(isDryRun: true)
        case .categories(let names):
            let all = Set(lists.map(\.category)).sorted()
            wanted = Set(
                try names.map { name in
                    guard let category = all.first(where: { $0.lowercased() == name.lowercased() }) else {
                        let known = all.isEmpty ? "there is none yet" : "there are \(all.joined(separator: ", "))"
                        throw Failure(
                            .usage,
                            TerminalText.safe("no list of the category '\(name)' in '\(directory)'; \(known)"),
                            hint: "add one: newswire feeds add URL --category NAME --feeds \(directory.shellWord)"
                        )
                    }
                    return category
                }
            )
        }
        steps = lists.compactMap { list in
            let isWanted = wanted.contains(list.category)
            if isCopied {
                let name = URL(filePath: list.file).lastPathComponent
                guard isWanted, list.isOn else { return nil }
                return Step(source: list.file, target: "\(directory)/\(name)", isCopy: true)
            }
            guard isWanted != list.isOn else { return nil }
            let target = isWanted ? String(list.file.dropLast(Self.ending.count)) : list.file + Self.ending
            return Step(source: list.file, target: target, isCopy: false)
        }
        for step in steps where HostFile.exists(step.target) {
            throw Failure(.failed, "cannot \(step.line): there is a file of this name", hint: "move one of them away")
        }
    }

    /// Does what was decided, and says each step.
    ///
    /// - Returns: True if a list has changed.
    func perform(isDryRun: Bool) throws -> Bool {
        for step in steps { SetupCommand.say(step.line, isDryRun) }
        if !isDryRun, !steps.isEmpty {
            try SetupCommand.makeFolder(directory)
            for step in steps {
                if step.isCopy {
                    let text = try PrivateFile.read(step.source, limit: 1 << 20)
                    try HostFile.replace(step.target, with: text, permissions: 0o644)
                } else {
                    try HostFile.move(step.source, to: step.target)
                }
            }
        }
        if !isDryRun, document != nil { try SetupCommand.makeFolder(directory) }
        guard let report = try importing(isDryRun: isDryRun) else { return !steps.isEmpty }
        for feed in report.added { SetupCommand.say("add to \(feed.category): \(feed.url)", isDryRun) }
        for feed in report.refused { Console.warning("refused: \(feed.name): \(feed.reason)") }
        return !steps.isEmpty || !report.added.isEmpty
    }

    private func importing(isDryRun: Bool) throws -> FeedImportReport? {
        guard let document else { return nil }
        return try FeedImportOutput.add(
            document,
            to: try FeedListFolder.load(directory: directory),
            category: nil,
            isDryRun: isDryRun
        )
    }
}
