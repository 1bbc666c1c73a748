// Compares every import in Sources/<Target> with that target's declared dependencies, as `swift package dump-package`
// prints them on standard input: the compiler lets an undeclared transitive target through (Swift 6.3).
// Rejects clocks, locks, stores, loggers and networks in pure modules, whose results follow from their arguments alone.
// Rejects Foundation's readers of JSON in every module: they end the process on some texts, and `Formats` reads JSON.

import Foundation

struct Manifest: Decodable {
    struct Target: Decodable {
        let name: String
        let type: String
        let dependencies: [Dependency]
    }

    /// `{"byName": ["X", null]}` or `{"product": ["X", "package", …]}`.
    struct Dependency: Decodable {
        let name: String

        init(from decoder: any Decoder) throws {
            let container = try decoder.singleValueContainer()
            let members = try container.decode([String: [Name?]].self)
            name = members.values.first?.first??.text ?? ""
        }
    }

    struct Name: Decodable {
        let text: String?

        init(from decoder: any Decoder) throws {
            text = try? decoder.singleValueContainer().decode(String.self)
        }
    }

    let targets: [Target]
}

/// What comes with the toolchain.
let toolchain: Set<String> = [
    "Dispatch", "Foundation", "FoundationEssentials", "Glibc", "Musl", "Synchronization", "Testing", "XCTest",
    "_FoundationICU",
]

/// Words that may stand before `import`.
let levels: Set<String> = ["package", "public", "internal", "private", "fileprivate"]

/// Modules without input and output, clocks, locks and loggers.
let pure: Set<String> = ["Formats", "FairShares", "Feeds", "HubProtocol", "HubRouting", "WebPages", "Alarms"]

/// Modules that are pure and draw no random numbers either.
let deterministic: Set<String> = ["Formats", "HubRouting", "WebPages", "Alarms"]

/// What a pure module must not import.
let impure: Set<String> = ["Dispatch", "Glibc", "GRDB", "Logging", "NIOCore", "NIOPosix", "Synchronization"]

/// The places of a file, comments aside, where one of the words appears that `word` finds in a line.
func places(in file: String, of word: (Substring) -> Substring?) throws -> [(line: Int, word: String)] {
    let text = try String(contentsOfFile: file, encoding: .utf8)
    return text.split(separator: "\n", omittingEmptySubsequences: false).enumerated().compactMap { index, line in
        guard !line.drop(while: { $0 == " " }).hasPrefix("//") else { return nil }
        return word(line).map { (index + 1, String($0)) }
    }
}

/// The words of a pure module's file that it must not use.
func impurities(of file: String, in module: String) throws -> [(line: Int, word: String)] {
    guard pure.contains(module) else { return [] }
    // What stands for a clock, a lock, a logger or a file; at the end of a text in quotes, "Clock" is a word.
    let impure =
        /\bDate\(\)|\.now\b|\b(Continuous|Suspending)?Clock\b(?!")|\b(Mutex|Atomic|Logger|FileManager|FileHandle)\b/
    let random = /\b(random|randomElement|shuffle|shuffled|UUID|SystemRandomNumberGenerator)\b\(/
    return try places(in: file) { line in
        let drawn = deterministic.contains(module) ? line.firstMatch(of: random)?.0 : nil
        return line.firstMatch(of: impure)?.0 ?? drawn
    }
}

/// Foundation's readers of JSON in a file.
func jsonReaders(of file: String) throws -> [(line: Int, word: String)] {
    try places(in: file) { $0.firstMatch(of: /\b(JSONDecoder|JSONSerialization)\b/)?.0 }
}

func imports(of file: String) throws -> [(line: Int, module: String)] {
    let text = try String(contentsOfFile: file, encoding: .utf8)
    return text.split(separator: "\n", omittingEmptySubsequences: false).enumerated().compactMap { index, line in
        var words = line.split(separator: " ").map(String.init)
        words.removeAll { levels.contains($0) || $0.hasPrefix("@") }
        guard words.first == "import", words.count > 1 else { return nil }
        let kinds = ["struct", "class", "enum", "protocol", "func", "let", "var", "typealias"]
        let name = kinds.contains(words[1]) && words.count > 2 ? words[2] : words[1]
        return (index + 1, String(name.prefix { $0 != "." }))
    }
}

let root = CommandLine.arguments.dropFirst().first ?? "Sources"
let manifest = try JSONDecoder().decode(Manifest.self, from: FileHandle.standardInput.readDataToEndOfFile())
let known = Dictionary(uniqueKeysWithValues: manifest.targets.map { ($0.name, $0) })
var surprises = 0
for folder in try FileManager.default.contentsOfDirectory(atPath: root).sorted() {
    guard let target = known[folder] else {
        print("\(root)/\(folder): error: not a target of Package.swift")
        surprises += 1
        continue
    }
    let allowed = Set(target.dependencies.map(\.name)).union(toolchain)
    let files = FileManager.default.enumerator(atPath: "\(root)/\(folder)")?.compactMap { $0 as? String } ?? []
    for file in files.sorted() where file.hasSuffix(".swift") {
        for (line, module) in try imports(of: "\(root)/\(folder)/\(file)") where !allowed.contains(module) {
            print("\(root)/\(folder)/\(file):\(line): error: \(folder) does not declare a dependency on \(module)")
            surprises += 1
        }
        for (line, module) in try imports(of: "\(root)/\(folder)/\(file)")
        where pure.contains(folder) && impure.contains(module) {
            print("\(root)/\(folder)/\(file):\(line): error: \(folder) is pure and must not import \(module)")
            surprises += 1
        }
        for (line, word) in try jsonReaders(of: "\(root)/\(folder)/\(file)") {
            print("\(root)/\(folder)/\(file):\(line): error: read JSON with JSONReader, not with \(word)")
            surprises += 1
        }
        for (line, word) in try impurities(of: "\(root)/\(folder)/\(file)", in: folder) {
            print("\(root)/\(folder)/\(file):\(line): error: \(folder) is pure and must not use '\(word)'")
            surprises += 1
        }
    }
}
if surprises > 0 { exit(1) }
