internal import YAMLFiles
internal import Yams

/// A change of one setting in the configuration file.
package struct SettingChange: Sendable {
    package enum Value: Sendable, Equatable {
        case word(String)
        case list([String])
        /// The setting is taken out of the file, so that its default counts.
        case none
    }

    package let entry: SettingEntry
    package let value: Value

    package init(_ entry: SettingEntry, _ value: Value) {
        self.entry = entry
        self.value = value
    }

    /// Sets a value that is one text, as environment variables have it.
    package init(_ entry: SettingEntry, text: String) {
        let words = text.split(separator: ",").map(String.init)
        self.init(entry, entry.nature == .list ? .list(words) : .word(text))
    }

    /// The value as one text, as environment variables have it; `nil` if the setting is taken out.
    package var text: String? {
        switch value {
        case .word(let text): text
        case .list(let words): words.joined(separator: ",")
        case .none: nil
        }
    }

    /// The line in the file, without indentation.
    fileprivate var line: String? { line(named: entry.key) }

    /// The line in the file with another name, which is the end of the setting's own, without indentation.
    fileprivate func line(named name: String) -> String? {
        switch value {
        case .word(let text): "\(name): \(YAMLText.scalar(text))"
        case .list(let words): "\(name): [\(words.map(YAMLText.quoted).joined(separator: ", "))]"
        case .none: nil
        }
    }
}

/// The text of a configuration file, whose settings can be changed while comments, order and all other settings stay.
package struct SettingsFileText: Sendable, Equatable {
    package let file: String
    package private(set) var text: String

    /// `text` is empty for a file that does not exist yet.
    package init(file: String, text: String) {
        self.file = file
        self.text = text
    }

    /// Returns the value of a setting as one text, as written in the file; `nil` if the file does not have it.
    package func value(of entry: SettingEntry) -> String? { values()[entry.id] }

    /// Makes the changes, or none of them.
    ///
    /// The result is read again and compared, so that an unusual YAML style cannot damage the file.
    ///
    /// - Throws: ``SettingsShapeError`` if the style of the file does not allow a change line by line.
    package mutating func apply(_ changes: [SettingChange]) throws(SettingsShapeError) {
        var wanted = values()
        var changed = self
        for change in changes where wanted[change.entry.id] != change.text {
            wanted[change.entry.id] = change.text
            guard changed.make(change) else { throw SettingsShapeError(file: file, changes: changes) }
        }
        guard changed.values() == wanted, changed.hasNewProblems(since: self) == false else {
            throw SettingsShapeError(file: file, changes: changes)
        }
        self = changed
    }

    private func values() -> [String: String] {
        var reader = SettingsFileReader(file: file)
        return reader.read(text).mapValues(\.text)
    }

    private func hasNewProblems(since old: SettingsFileText) -> Bool {
        var (before, after) = (SettingsFileReader(file: file), SettingsFileReader(file: file))
        _ = before.read(old.text)
        _ = after.read(text)
        return after.problems.map(\.text) != before.problems.map(\.text) || after.hubs != before.hubs
    }

    // MARK: - Lines

    private mutating func make(_ change: SettingChange) -> Bool {
        let name = change.entry.section.rawValue
        guard let root = try? YAMLText.root(of: text), root.null == nil else {
            return append(section: name, change)
        }
        guard let mapping = root.mapping else { return false }
        guard let (key, section) = mapping.first(where: { $0.key.scalar?.string == name }) else {
            return append(section: name, change)
        }
        guard let first = key.mark?.line, key.mark?.column == 1 else { return false }
        var lines = self.lines
        guard lines.indices.contains(first - 1) else { return false }
        guard let settings = section.mapping, !settings.isEmpty else {
            if let line = change.line { lines.insert("  \(line)\(ending)", at: first) }
            text = Self.text(lines)
            return true
        }
        guard let mark = settings.first?.key.mark, mark.line > first else { return false }
        if let (name, key, value) = Self.place(of: change.entry.key, in: settings) {
            guard let begin = key.mark?.line, lines.indices.contains(begin - 1) else { return false }
            let end = max(begin, Self.lastLine(of: value))
            guard end <= lines.count else { return false }
            let indent = lines[begin - 1].prefix { $0 == " " }
            let comment = begin == end ? Self.comment(lines[begin - 1], after: value) : ""
            lines.replaceSubrange(
                begin - 1...end - 1,
                with: change.line(named: name).map { ["\(indent)\($0)\(comment)\(ending)"] } ?? []
            )
        } else if value(of: change.entry) != nil {
            // It shares its line with others.
            return false
        } else if let line = change.line {
            let end = Self.lastLine(of: section)
            guard end <= lines.count else { return false }
            let indent = String(repeating: " ", count: mark.column - 1)
            lines.insert("\(indent)\(line)\(ending)", at: end)
        }
        text = Self.text(lines)
        return true
    }

    /// Finds a setting in a mapping, also one whose name is written in levels, as in `log:` with `servers:` below it.
    ///
    /// - Returns: The name on its line, with the nodes of name and value; `nil` for a setting that shares its line.
    private static func place(of key: String, in mapping: Node.Mapping) -> (name: String, key: Node, value: Node)? {
        for (found, value) in mapping {
            guard let name = found.scalar?.string else { continue }
            if name == key { return (name, found, value) }
            guard key.hasPrefix("\(name)-"), let inner = value.mapping, inner.style != .flow else { continue }
            if let place = place(of: String(key.dropFirst(name.count + 1)), in: inner) { return place }
        }
        return nil
    }

    private mutating func append(section: String, _ change: SettingChange) -> Bool {
        guard let line = change.line else { return true }
        let lines = self.lines + ["\(section):\(ending)", "  \(line)\(ending)"]
        text = Self.text(lines)
        return true
    }

    /// Without line feeds; a last one does not begin another line.
    private var lines: [String] {
        var lines = text.utf8.split(separator: 0x0A, omittingEmptySubsequences: false).map { String($0) ?? "" }
        if lines.last?.isEmpty == true { lines.removeLast() }
        return lines
    }

    private var ending: String { lines.first?.hasSuffix("\r") == true ? "\r" : "" }

    private static func text(_ lines: [String]) -> String { lines.map { $0 + "\n" }.joined() }

    /// The comment behind a value that is on one line, with the space before it.
    private static func comment(_ line: String, after value: Node) -> Substring {
        let isPlain = value.scalar?.style == .plain
        let start = isPlain ? line.startIndex : line.lastIndex { "\"']".contains($0) } ?? line.startIndex
        guard let hash = line[start...].firstRange(of: " #") else { return "" }
        let space = line[..<hash.lowerBound].reversed().prefix { $0 == " " }.count
        let comment = line[line.index(hash.lowerBound, offsetBy: -space)...]
        return comment.hasSuffix("\r") ? comment.dropLast() : comment
    }

    private static func lastLine(of node: Node) -> Int {
        let own = node.mark?.line ?? 0
        if let sequence = node.sequence { return sequence.map(lastLine).max().map { max($0, own) } ?? own }
        if let mapping = node.mapping {
            return mapping.map { max(lastLine(of: $0.key), lastLine(of: $0.value)) }.max().map { max($0, own) } ?? own
        }
        return own
    }
}

/// A configuration file whose style does not allow changes line by line.
package struct SettingsShapeError: Error, Sendable, CustomStringConvertible {
    package let file: String
    /// The changes to make by hand.
    package let lines: [String]

    fileprivate init(file: String, changes: [SettingChange]) {
        self.file = file
        lines = changes.map { change in
            change.line.map { "\(change.entry.section.rawValue): \($0)" }
                ?? "\(change.entry.section.rawValue): without \(change.entry.key)"
        }
    }

    package var description: String {
        "cannot change '\(file)': its settings are not each on a line of their own"
    }
}
