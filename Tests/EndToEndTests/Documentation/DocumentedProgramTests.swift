import Foundation
import Testing

/// Command lines of other programs, which the tests cannot run: what they name exists once newswire is installed.
@Suite struct DocumentedProgramTests {
    /// Programs of Debian and of this repository that the pages use.
    private static let programs: Set<String> = [
        ".", "apt", "chmod", "cp", "curl", "docs/examples/categories.py", "docs/examples/ios.py", "echo", "grep",
        "install", "journalctl", "jq", "make", "mkdir", "newswire", "runuser", "scp", "sed", "sh", "ssh", "systemctl",
        "tar",
    ]
    /// Directories and files below `/etc/newswire` that an installation, a service or the pages' own steps create.
    private static let settings: Set<String> = ["", "agent", "feeds", "log", "newswire.yaml", "tls"]
    /// Users whom other packages create: `nats-server`.
    private static let users: Set<String> = ["nats"]

    private static func names(in folder: String) throws -> Set<String> {
        Set(try FileManager.default.contentsOfDirectory(atPath: "\(BuiltProgram.repository)/\(folder)"))
    }

    /// The reasons why these words of a command cannot work on a machine where newswire is installed.
    static func problems(_ words: [String]) throws -> [String] {
        guard let program = words.first else { return [] }
        var problems: [String] = []
        let isUsers = words.contains("--user")
        for word in words.dropFirst() {
            if ["systemctl", "journalctl"].contains(program), let match = word.wholeMatch(of: /newswire-[^\/ ]*/) {
                let name = match.output.replacing(/@[^.]*/, with: "@")
                let unit = name.contains(".") ? String(name) : "\(name).service"
                if try !names(in: isUsers ? "systemd/user" : "systemd").contains(unit) {
                    problems.append("there is no unit '\(unit)'")
                }
            }
            for match in word.matches(of: /\/(var\/lib|etc)\/(newswire[^\/"']*)(?:\/([^\/"']*))?/) {
                let (folder, own, part) = (match.output.1, match.output.2, match.output.3.map(String.init) ?? "")
                let isState = ["hub", "backend", "publisher", "agent", ""].contains(part)
                if own != "newswire" || folder == "etc" && !settings.contains(part) || folder != "etc" && !isState {
                    problems.append("no installation has '\(match.output.0)'")
                }
            }
        }
        let users = try String(contentsOfFile: "\(BuiltProgram.repository)/systemd/newswire.sysusers", encoding: .utf8)
        for (flag, value) in zip(words, words.dropFirst())
        where flag == "-u" && program == "runuser" || ["-o", "-g"].contains(flag) && program == "install" {
            if !users.contains("\nu \(value) "), !Self.users.contains(value) {
                problems.append("there is no user '\(value)'")
            }
        }
        return problems
    }

    @Test func `programs, units, users and paths in command lines exist`() throws {
        var count = 0
        for line in try DocumentedLines.pages().flatMap(DocumentedLines.lines) {
            for words in DocumentedLines.commands(in: line.text) {
                guard let program = words.first, !program.contains("=") else { continue }
                count += 1
                #expect(Self.programs.contains(program), "\(line)")
                for problem in try Self.problems(words) { Issue.record("\(line): \(problem)") }
            }
        }
        #expect(count > 100, "the reader of code blocks has found \(count) commands only")
    }

    @Test func `units, users and paths of commands in sentences exist`() throws {
        var count = 0
        for page in try DocumentedLines.pages() {
            let prose = try DocumentedLines.text(of: page).replacing(/(?m)^```[^`]*^```/, with: "")
            for match in prose.matches(of: /`((?:systemctl|journalctl|runuser|install) [^`]+)`/) {
                count += 1
                let words = match.output.1.split { $0 == " " || $0 == "\n" }.map(String.init)
                for problem in try Self.problems(words) {
                    Issue.record("\(page): '\(match.output.1)': \(problem)")
                }
            }
        }
        #expect(count > 5, "the reader of sentences has found \(count) commands only")
    }

    @Test(arguments: [
        ("systemctl start newswire-hbu", "there is no unit 'newswire-hbu.service'"),
        ("systemctl --user start newswire-agent@default", nil),
        ("tar -C /var/lib/newswire-hub -cf keys.tar ca.pem", "no installation has '/var/lib/newswire-hub'"),
        ("cp my.yaml /etc/newswire/feed/", "no installation has '/etc/newswire/feed'"),
        ("runuser -u newswire -- newswire hub keys", "there is no user 'newswire'"),
    ])
    func `a name that no installation has is found`(line: String, problem: String?) throws {
        #expect(try Self.problems(line.split(separator: " ").map(String.init)) == [problem].compactMap(\.self))
    }
}
