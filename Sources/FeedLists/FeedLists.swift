import Formats
internal import FoundationEssentials
internal import HostSystem
package import HubProtocol

/// All feed lists of a directory, valid as a whole.
package struct FeedLists: Sendable {
    /// The largest file in bytes; a thousand feeds take about 60 KB.
    static let maximumFileBytes = 1_048_576
    /// The largest number of files in a directory.
    static let maximumFiles = 256

    package let lists: [FeedList]
    /// The files as they were before they were read; `nil` for lists that are not from a directory as a whole.
    package private(set) var stamps: Stamps?

    /// The lists in a directory: different when one was written, added, removed or renamed.
    package struct Stamps: Sendable, Equatable {
        private let names: [String]
        private let files: [FileStamp?]

        package init(directory: String) {
            let names = listNames((try? FileManager.default.contentsOfDirectory(atPath: directory)) ?? [])
            self.names = names
            files = names.map { FileStamp("\(directory)/\($0)") }
        }
    }

    package init(_ lists: [FeedList]) { self.lists = lists }

    package var categories: [Tag] { lists.map(\.category).distinct() }

    /// The number of feeds; one that is in several lists counts once.
    package var feedCount: Int { Set(lists.lazy.flatMap(\.feeds).map(\.address.comparable)).count }

    /// Reads every `*.yaml` and `*.yml` directly in a directory, in the order of their names.
    ///
    /// With `isStrict`, properties in templates that no message has, and addresses that the publisher refuses, are
    /// problems, too; a publisher does what it can do with such a list.
    ///
    /// - Throws: ``FeedListsError`` with *all* problems of all files, so that one run reports them all.
    package static func load(directory: String, isStrict: Bool = false) throws(FeedListsError) -> FeedLists {
        // Before the files are read: a change during the reading is noticed afterwards.
        let stamps = Stamps(directory: directory)
        let texts = try texts(in: directory)
        guard !texts.isEmpty else {
            throw FeedListsError(directory, "contains no feed list (a file named *.yaml)")
        }
        var lists = try parse(texts, isStrict: isStrict)
        lists.stamps = stamps
        return lists
    }

    fileprivate static func listNames(_ names: [String]) -> [String] {
        names.filter { !$0.hasPrefix(".") && ($0.hasSuffix(".yaml") || $0.hasSuffix(".yml")) }.sorted()
    }

    /// The paths of the lists in a directory, in order, and their contents.
    static func texts(
        in directory: String
    ) throws(FeedListsError) -> [(file: String, text: Result<String, FeedListProblem>)] {
        let names: [String]
        do {
            names = try FileManager.default.contentsOfDirectory(atPath: directory)
        } catch {
            throw FeedListsError(
                directory,
                "cannot read the feed lists: \(reason(error))",
                isMissing: [.fileReadNoSuchFile, .fileNoSuchFile].contains((error as? CocoaError)?.code)
            )
        }
        let files = listNames(names)
        guard files.count <= maximumFiles else {
            throw FeedListsError(directory, "contains more than \(maximumFiles) feed lists")
        }
        let folder = directory.hasSuffix("/") ? directory : directory + "/"
        return files.map { (folder + $0, contents(folder + $0)) }
    }

    /// Parses lists from their texts.
    ///
    /// - Throws: ``FeedListsError`` with all problems of all texts.
    package static func parse(
        _ texts: [(file: String, text: String)],
        isStrict: Bool = false
    ) throws(FeedListsError) -> FeedLists {
        try parse(texts.map { ($0.file, .success($0.text)) }, isStrict: isStrict)
    }

    static func parse(
        _ files: [(file: String, text: Result<String, FeedListProblem>)],
        isStrict: Bool = false
    ) throws(FeedListsError) -> FeedLists {
        var problems: [FeedListProblem] = []
        var lists: [FeedList] = []
        for (file, text) in files {
            switch text {
            case .failure(let problem): problems.append(problem)
            case .success(let text):
                var reader = FeedListReader(file: file, isStrict: isStrict)
                if let list = reader.read(text) { lists.append(list) }
                problems += reader.problems
            }
        }
        problems += repeats(in: lists)
        guard problems.isEmpty else { throw FeedListsError(problems) }
        return FeedLists(lists)
    }

    /// Finds duplicate categories, feeds that appear twice in a list, which would be announced by an arbitrary one of
    /// two rules, and feeds that several lists would fetch in different ways.
    private static func repeats(in lists: [FeedList]) -> [FeedListProblem] {
        var problems: [FeedListProblem] = []
        var categories: [Tag: FeedList] = [:]
        var places: [String: (file: String, feed: FeedSource)] = [:]
        for list in lists {
            if let first = categories[list.category] {
                let text = "category '\(list.category)' is already listed in '\(first.file)'"
                problems.append(FeedListProblem(file: list.file, text: text))
            }
            categories[list.category] = categories[list.category] ?? list
            var lines: [String: FeedSource] = [:]
            for feed in list.feeds {
                func report(_ text: String) {
                    let text = "feed '\(feed.address.publicText)' \(text)"
                    problems.append(FeedListProblem(file: list.file, line: feed.line, text: text))
                }
                if let first = lines.updateValue(feed, forKey: feed.address.comparable) {
                    report("is already listed in \(place(first, list.file))")
                } else if let first = places[feed.address.comparable] {
                    let names = first.feed.differences(from: feed).map { "'\($0)'" }.joined(separator: ", ")
                    guard !names.isEmpty else { continue }
                    report(
                        "is fetched once for all lists, but \(names) differs from \(place(first.feed, first.file)): "
                            + "write the same value in both"
                    )
                } else {
                    places[feed.address.comparable] = (list.file, feed)
                }
            }
        }
        return problems
    }

    private static func place(_ feed: FeedSource, _ file: String) -> String {
        feed.line.map { "'\(file)' line \($0)" } ?? "'\(file)'"
    }

    static func contents(_ path: String) -> Result<String, FeedListProblem> {
        do {
            let data = try Data(contentsOf: URL(filePath: path))
            guard data.count <= maximumFileBytes else {
                return .failure(FeedListProblem(file: path, text: "is larger than \(maximumFileBytes) bytes"))
            }
            guard let text = String(validating: data, as: UTF8.self) else {
                return .failure(FeedListProblem(file: path, text: "is not UTF-8"))
            }
            return .success(text)
        } catch {
            return .failure(FeedListProblem(file: path, text: "cannot read feed list: \(reason(error))"))
        }
    }

    private static func reason(_ error: any Error) -> String {
        guard let error = error as? CocoaError else { return "\(error)" }
        return switch error.code {
        case .fileReadNoSuchFile, .fileNoSuchFile: "no such file or directory"
        case .fileReadNoPermission: "permission denied"
        default: (error.underlying as? POSIXError).map { "\($0.code)" } ?? "error \(error.code.rawValue)"
        }
    }
}

/// A problem in a feed list.
package struct FeedListProblem: Error, Sendable, Hashable, CustomStringConvertible {
    package let file: String
    /// The line, from 1, if known.
    package internal(set) var line: Int?
    package let text: String

    package var description: String {
        line.map { "'\(file)' line \($0): \(text)" } ?? "'\(file)': \(text)"
    }
}

/// All problems in the feed lists; exit code 78.
package struct FeedListsError: Error, Sendable, CustomStringConvertible {
    package let problems: [FeedListProblem]

    /// The directory of the lists if it does not exist.
    package let missingDirectory: String?

    init(_ problems: [FeedListProblem]) {
        self.problems = problems
        missingDirectory = nil
    }

    init(_ file: String, _ text: String, isMissing: Bool = false) {
        problems = [FeedListProblem(file: file, text: text)]
        missingDirectory = isMissing ? file : nil
    }

    /// The problems, one on each line.
    package var description: String { problems.map(\.description).joined(separator: "\n") }
}
