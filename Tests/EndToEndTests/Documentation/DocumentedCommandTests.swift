import ArgumentParser
import Foundation
import Testing

@testable import newswire

/// Command lines in the documentation are ones that the program takes.
@Suite struct DocumentedCommandTests {
    /// A command, as `newswire --experimental-dump-help` describes it.
    private struct Command: Decodable {
        struct Argument: Decodable {
            struct Name: Decodable { let name: String }

            let names: [Name]?
        }

        let commandName: String
        let defaultSubcommand: String?
        let subcommands: [Command]?
        let arguments: [Argument]?

        var flags: Set<String> {
            let own = Set((arguments ?? []).flatMap { $0.names ?? [] }.map { "--\($0.name)" })
            let byDefault = subcommands?.first { $0.commandName == defaultSubcommand }
            return own.union(byDefault?.flags ?? []).union(["--help", "--version"])
        }

        /// The reason why these words, of which arguments may be missing, are not a call; `nil` if they are one.
        func problem(with words: ArraySlice<String>) -> String? {
            let known = subcommands ?? []
            if let next = known.first(where: { $0.commandName == words.first }) {
                return next.problem(with: words.dropFirst())
            }
            if let word = words.first, !known.isEmpty, !word.hasPrefix("-"), !word.hasPrefix("["), word != "…" {
                return "'\(commandName)' has no command '\(word)'"
            }
            let flags = self.flags
            for word in words {
                guard let flag = word.prefixMatch(of: /\[?(--[a-z-]+)/)?.output.1 else { continue }
                guard flags.contains(String(flag)) else { return "'\(commandName)' has no flag '\(flag)'" }
            }
            return nil
        }
    }

    @Test func `every command line in a code block is accepted by the parser`() throws {
        var count = 0
        for line in try DocumentedLines.pages().flatMap(DocumentedLines.lines) {
            for arguments in DocumentedLines.calls(in: line.text) {
                count += 1
                do {
                    _ = try Newswire.parseAsRoot(arguments)
                } catch  where Newswire.exitCode(for: error) != .success {
                    Issue.record("\(line): \(Newswire.message(for: error))")
                } catch {
                    // --help and --version.
                }
            }
        }
        #expect(count > 60, "the reader of code blocks has found \(count) command lines only")
    }

    @Test func `commands and flags that are named in sentences and tables exist`() async throws {
        struct Dump: Decodable { let command: Command }
        let dump = try await BuiltProgram.run(["--experimental-dump-help"])
        let root = try JSONDecoder().decode(Dump.self, from: Data(dump.output.utf8)).command
        var count = 0
        for page in try DocumentedLines.pages() {
            let prose = try DocumentedLines.text(of: page).replacing(/(?m)^```[^`]*^```/, with: "")
            for match in prose.matches(of: /`newswire\s([^`]+)`/) {
                count += 1
                let words = match.output.1.split { $0 == " " || $0 == "\n" }.map(String.init)
                if let problem = root.problem(with: words[...]) {
                    Issue.record("\(page): 'newswire \(match.output.1)': \(problem)")
                }
            }
        }
        #expect(count > 100, "the reader of sentences has found \(count) commands only")
        #expect(root.problem(with: ["hub", "keys", "--rotaet"]) == "'keys' has no flag '--rotaet'")
        #expect(root.problem(with: ["hub", "kesy"]) == "'hub' has no command 'kesy'")
    }

    @Test func `version and commit are printed, and the changelog has the version`() async throws {
        let shown = try await BuiltProgram.run(["--version"])
        let line = shown.output.trimmingCharacters(in: .newlines)
        let match = try #require(line.wholeMatch(of: /([0-9.]+) \((unknown|[0-9a-f]+(?:-dirty)?)\)/), "\(line)")
        let changelog = try DocumentedLines.text(of: "CHANGELOG.md")
        let released = changelog.firstMatch(of: /\n## ([0-9.]+) - [0-9]{4}-[0-9]{2}-[0-9]{2}\n/)
        #expect(released?.output.1 == match.output.1)
    }
}
