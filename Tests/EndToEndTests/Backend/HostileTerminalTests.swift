import Formats
import Foundation
import HubProtocol
import Testing

/// What users choose, as an operator reads it at a terminal.
@Suite struct HostileTerminalTests {
    /// Clears the screen, colours, moves to the beginning of the line, turns text around, and says more than it is.
    private static let text = "a\u{1B}[2J\u{1B}]0;x\u{07}b\r\nc\u{9B}31md\u{202E}e\u{2066}f\u{7F}<b>\"'\u{2028}g"

    @Test(.timeLimit(.minutes(10)))
    func `lists of users, tokens, devices and events stay on their lines`() async throws {
        try await BackendStage.run(users: ["bob"]) { stage in
            let basic = "Basic \(Data("bob:\(BackendStage.password)".utf8).base64EncodedString())"
            let (json, path) = (JSONText(Self.text).text, PercentEncoding.encode(Self.text))
            let named = try await stage.calls.send("POST", "/api/login", as: basic, #"{"device":\#(json)}"#)
            #expect(named.status == 200, "\(named.text)")
            let unknown = #"{"user":\#(json),"password":\#(json)}"#
            #expect(try await stage.calls.send("POST", "/api/login", as: nil, unknown).status == 401)
            let id = try await stage.calls.register("apns", #""AA""#, as: basic)
            for (method, target) in [
                ("PUT", "/api/register/\(path)"), ("PUT", "/api/installations/\(path)"),
                ("DELETE", "/api/register/\(path)"),
                ("POST", "/api/notifications?pns=\(path)&to_tag=\(path)"), ("GET", "/api/notifications/\(path)"),
            ] {
                let body = method == "PUT" ? #"{"Platform":"apns","Handle":"BB","platform":"apns"}"# : nil
                let answer = try await stage.calls.send(method, target, as: basic, body)
                #expect(answer.status < 500, "\(target): \(answer.text)")
            }
            // The audit log is written every second.
            try await stage.wait("the fetch is not in the audit log") {
                try await stage.command("user", "audit").output.contains("payload fetched")
            }
            for arguments in [
                ["list"], ["audit"], ["audit", "--user", "bob"], ["devices", "bob"], ["tokens", "bob"],
            ] {
                for format in [[], ["--json"]] {
                    let command = ["user"] + arguments + format
                    let outcome = try await BuiltProgram.run(command + ["--state", stage.state])
                    #expect(outcome.status == 0 && !outcome.output.isEmpty, "\(command): \(outcome.errors)")
                    check(outcome.output + outcome.errors, "\(command)")
                }
            }
            let tokens = try await stage.command("user", "tokens", "bob").output
            #expect(tokens.split(separator: "\n").count == 1 && tokens.contains("<b>"), "\(tokens)")
            #expect(try await stage.command("user", "devices", "bob").output.contains(id))
            check(stage.logs, "the logs")
        }
    }

    private func check(_ text: String, _ what: String) {
        let harmful = text.unicodeScalars.filter { scalar in
            switch scalar.value {
            case 0x0A: false
            case 0..<0x20, 0x7F..<0xA0, 0x2028, 0x2029, 0x202A...0x202E, 0x2066...0x2069: true
            default: false
            }
        }
        #expect(harmful.isEmpty, "\(what): \(harmful.map { String($0.value, radix: 16) })")
    }
}
