import Foundation

/// The command lines in README.md and in the pages of docs/.
enum DocumentedLines {
    /// A line of a code block that a reader types.
    struct Line: CustomStringConvertible {
        let page: String
        let number: Int
        /// Number of its code block in the page.
        let block: Int
        /// The machine before `$` or `#`; empty where none is named.
        let machine: String
        /// True for a line of the administrator's, after `#`.
        let isRoots: Bool
        let text: String

        var description: String { "\(page):\(number): \(text)" }
    }

    /// README.md and all pages of docs/, by their paths.
    static func pages() throws -> [String] {
        let docs = try FileManager.default.subpathsOfDirectory(atPath: "\(BuiltProgram.repository)/docs")
        return ["README.md"] + docs.filter { $0.hasSuffix(".md") }.sorted().map { "docs/\($0)" }
    }

    static func text(of page: String) throws -> String {
        try String(contentsOfFile: "\(BuiltProgram.repository)/\(page)", encoding: .utf8)
    }

    /// The shell scripts of a page.
    static func scripts(of page: String) throws -> [String] {
        try text(of: page).matches(of: /(?m)^```sh\n([^`]*)^```/).map { String($0.output.1) }
    }

    /// The lines that a reader types into a terminal or a crontab.
    static func lines(of page: String) throws -> [Line] {
        var lines: [Line] = []
        var block: Substring?
        var blocks = 0
        for (index, line) in try text(of: page).split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
            func add(_ text: Substring, on machine: Substring = "", isRoots: Bool = false) {
                lines.append(
                    Line(
                        page: page,
                        number: index + 1,
                        block: blocks,
                        machine: String(machine),
                        isRoots: isRoots,
                        text: String(text)
                    )
                )
            }
            if line.hasPrefix("```") {
                blocks += 1
                block = block == nil ? line.dropFirst(3) : nil
            } else if block == "console", let typed = line.wholeMatch(of: /([a-z]*)([$#]) (.+)/) {
                add(typed.output.3, on: typed.output.1, isRoots: typed.output.2 == "#")
            } else if block == "crontab", let entry = line.wholeMatch(of: /(?:\S+ ){5}(.+)/) {
                add(entry.output.1)
            } else if block == nil, line.hasPrefix("    newswire ") {
                add(line.dropFirst(4))
            }
        }
        return lines
    }

    /// The arguments of each call of `newswire` in a line, also of one that another program makes.
    static func calls(in line: String) -> [[String]] {
        commands(in: line).compactMap { words in
            if let flags = words.compactMap({ $0.wholeMatch(of: /NEWSWIRE_SUBSCRIBE=(.*)/)?.output.1 }).first {
                return ["subscribe"] + flags.split(separator: " ").map(String.init)
            }
            guard let first = words.first, ["newswire", "ssh", "runuser", "sudo"].contains(first),
                let position = words.firstIndex(of: "newswire")
            else { return nil }
            return Array(words[(position + 1)...])
        }
    }

    /// Splits a line at `|`, `&` and `;` into commands, and those into words, as a shell does; redirections are left out.
    static func commands(in line: String) -> [[String]] {
        var commands: [[String]] = [[]]
        var word: String?
        var quote: Character?
        var isRedirected = false
        func endWord() {
            if let word, !isRedirected { commands[commands.count - 1].append(word) }
            if word != nil { isRedirected = false }
            word = nil
        }
        for character in line {
            if let open = quote {
                if character == open { quote = nil } else { word?.append(character) }
            } else if character == "'" || character == "\"" {
                quote = character
                word = word ?? ""
            } else if character == " " {
                endWord()
            } else if character == "#", word == nil {
                break
            } else if "<>".contains(character) {
                endWord()
                isRedirected = true
            } else if "|&;".contains(character) {
                endWord()
                commands.append([])
            } else {
                word = (word ?? "") + String(character)
            }
        }
        endWord()
        return commands
    }
}
