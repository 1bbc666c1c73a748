internal import HostSystem
internal import YAMLFiles
internal import Yams

/// Reads the file, and collects all errors in its structure.
///
/// It works on YAML nodes instead of a `Codable`: a node knows its line, and an unknown key must be an error.
struct SettingsFileReader {
    /// Maximum size in bytes; a file with every setting and a comment on each has about 8 KB.
    static let maximumBytes = 65_536

    let file: String
    /// The home directory, for paths that begin with `~/`.
    let home: String?
    private(set) var problems: [SettingsProblem] = []
    /// The sections that are not tables of settings.
    private(set) var hubs = ConfiguredHubs()

    init(file: String, home: String? = nil) {
        self.file = file
        self.home = home
    }

    /// - Returns: Values by ``SettingEntry/id``; not yet validated.
    mutating func read() -> [String: GivenValue] {
        do throws(HostError) {
            return read(try PrivateFile.read(file, limit: Self.maximumBytes))
        } catch {
            let hint = error.hint.map { " (\($0))" } ?? ""
            problem(nil, "cannot read the configuration: \(error.reason)\(hint)")
            return [:]
        }
    }

    mutating func read(_ text: String) -> [String: GivenValue] {
        let root: Node?
        do {
            root = try YAMLText.root(of: text)
        } catch {
            problems.append(SettingsProblem(place: file, line: error.line, text: error.text))
            return [:]
        }
        // An empty file, or one with only comments, means all defaults.
        guard let root, root.null == nil else { return [:] }
        let sections = SettingSection.allCases.map(\.rawValue) + ["hubs", "namespace"]
        guard let mapping = root.mapping else {
            problem(root, "must hold the sections \(sections.map { "'\($0):'" }.joined(separator: ", "))")
            return [:]
        }
        var given: [String: GivenValue] = [:]
        for (key, node) in mapping {
            let name = key.scalar?.string ?? ""
            if name == "hubs" || name == "namespace" {
                readHubs(name, node)
                continue
            }
            guard let section = SettingSection(rawValue: name) else {
                unknown(key, known: sections, kind: "section")
                continue
            }
            given.merge(readSection(section, node)) { first, _ in first }
        }
        return given
    }

    private mutating func readHubs(_ name: String, _ node: Node) {
        let (file, home) = (file, home)
        var reader = ConfiguredHubsReader(file: file) { Self.located($0, besides: file, home: home) }
        if name == "hubs" { hubs.hubs = reader.hubs(node) } else { hubs.rules = reader.namespace(node) }
        problems += reader.problems
    }

    private mutating func readSection(_ section: SettingSection, _ node: Node) -> [String: GivenValue] {
        if node.null != nil { return [:] }
        guard let mapping = node.mapping else {
            problem(node, "'\(section.rawValue)' must hold settings such as '  log-level: info'")
            return [:]
        }
        return readMapping(mapping, SettingsTable.entries(section), prefix: "")
    }

    /// Reads the settings of a mapping.
    ///
    /// `log:` with `name:` below it is another way to write `log-name:`.
    private mutating func readMapping(
        _ mapping: Node.Mapping,
        _ entries: [SettingEntry],
        prefix: String
    ) -> [String: GivenValue] {
        var given: [String: GivenValue] = [:]
        for (key, node) in mapping {
            let name = prefix + (key.scalar?.string ?? "")
            let group = entries.filter { $0.key.hasPrefix("\(name)-") }
            if prefix.isEmpty, !group.isEmpty, let mapping = node.mapping {
                given.merge(readMapping(mapping, group, prefix: "\(name)-")) { first, _ in first }
                continue
            }
            guard let entry = entries.first(where: { $0.key == name }) else {
                unknown(key, known: entries.map { String($0.key.dropFirst(prefix.count)) }, kind: "key")
                continue
            }
            guard let text = text(of: node, entry) else { continue }
            given[entry.id] = GivenValue(
                text: located(text, entry.nature),
                origin: .file(file, line: key.mark?.line)
            )
        }
        return given
    }

    private mutating func text(of node: Node, _ entry: SettingEntry) -> String? {
        if entry.nature == .list, let sequence = node.sequence {
            let words = sequence.compactMap { $0.scalar?.string }
            if words.count == sequence.count, !words.contains(where: { $0.contains(",") }) {
                return words.joined(separator: ",")
            }
        } else if node.null == nil, let text = node.scalar?.string, !text.isEmpty {
            return text
        }
        problem(node, "'\(entry.key)' must be a \(entry.type)")
        return nil
    }

    /// Resolves a path against the folder of the file.
    private func located(_ text: String, _ nature: SettingNature) -> String {
        switch nature {
        case .plain, .list: return text
        case .program where !text.contains("/"): return text
        case .path, .secretFile, .program: break
        }
        return Self.located(text, besides: file, home: home)
    }

    private static func located(_ text: String, besides file: String, home: String?) -> String {
        if text.hasPrefix("~/"), let home { return home + text.dropFirst(1) }
        if text.hasPrefix("/") { return text }
        guard let slash = file.lastIndex(of: "/") else { return text }
        return file[...slash] + text
    }

    private mutating func unknown(_ node: Node, known: [String], kind: String) {
        problems.append(SettingsProblem.unknown(node, kind: kind, known: known, file: file, instead: "connection-file"))
    }

    private mutating func problem(_ node: Node?, _ text: String) {
        problems.append(SettingsProblem(place: file, line: node?.mark?.line, text: text))
    }
}
