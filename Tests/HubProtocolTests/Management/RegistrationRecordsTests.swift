import Testing

@testable import HubProtocol

@Suite struct RegistrationRecordsTests {
    private typealias Record = RegistrationRecords.Record

    /// The records of a file that comes in pieces of a size, with what is left of the file behind each.
    private func records(_ file: [UInt8], pieces: Int) -> (texts: [String], numbers: [Int], rests: [Int]) {
        var records = RegistrationRecords()
        var found: [Record] = []
        var rest = file[...]
        while !rest.isEmpty {
            records.append(Array(rest.prefix(pieces)))
            rest = rest.dropFirst(pieces)
            while let record = records.nextRecord() { found.append(record) }
        }
        records.finish()
        while let record = records.nextRecord() { found.append(record) }
        return (
            found.map { String(decoding: $0.bytes, as: UTF8.self) }, found.map(\.number),
            found.map { file.count - Int($0.end.bytes) }
        )
    }

    private static let apple =
        "<AppleRegistrationDescription><DeviceToken>AB</DeviceToken></AppleRegistrationDescription>"
    private static let open = "<s:GcmTemplateRegistrationDescription a='b'><s:BodyTemplate><![CDATA[{"
    private static let rest = "}]]></s:BodyTemplate></s:GcmTemplateRegistrationDescription>"

    @Test(arguments: [1, 7, 64, 100_000])
    func `lines are records, and a description with line ends of its own is one`(pieces: Int) {
        let lines = [
            "\u{FEFF}\(Self.apple)\r", "", "  \t", "  \(Self.apple)", "no XML at all",
            "<?xml version=\"1.0\"?>\(Self.open)",
            "\"a\": 1", "", Self.rest, Self.apple,
        ]
        let file = lines.joined(separator: "\n").bytes
        let found = records(file, pieces: pieces)
        #expect(
            found.texts == [
                Self.apple, "  \(Self.apple)", "no XML at all",
                "<?xml version=\"1.0\"?>\(Self.open)\n\"a\": 1\n\n\(Self.rest)", Self.apple,
            ]
        )
        #expect(found.numbers == [1, 4, 5, 6, 10])
        #expect(found.rests.last == 0)
        // Every record but the last ends where the next line begins.
        let second = lines[..<4].joined(separator: "\n").utf8.count + 1
        #expect(found.rests[1] == file.count - second)
    }

    @Test(arguments: [3, 100_000])
    func `a record that lacks its end is broken where the next one begins, or the file ends`(pieces: Int) {
        let file = [Self.open, "junk", Self.apple, Self.open, "end"].joined(separator: "\n").bytes
        let found = records(file, pieces: pieces)
        #expect(found.texts == ["\(Self.open)\njunk", Self.apple, "\(Self.open)\nend"])
        #expect(found.numbers == [1, 3, 4])
        #expect(found.rests == [file.count - Self.open.utf8.count - 6, Self.open.utf8.count + 4, 0])
    }

    @Test(arguments: [1_000, 1 << 20])
    func `of a line that is too long the beginning is kept, and the next one is found`(pieces: Int) {
        let long = String(repeating: "x", count: RegistrationRecords.maximumBytes + 9)
        let file = "\(long)\n\(Self.open)\n\(long)\n\(Self.apple)\n".bytes
        var records = RegistrationRecords()
        var found: [Record] = []
        var rest = file[...]
        while !rest.isEmpty {
            records.append(Array(rest.prefix(pieces)))
            rest = rest.dropFirst(pieces)
            while let record = records.nextRecord() { found.append(record) }
        }
        records.finish()
        while let record = records.nextRecord() { found.append(record) }
        #expect(found.map(\.isTooLong) == [true, true, false])
        #expect(found.allSatisfy { $0.bytes.count <= 2 * RegistrationRecords.maximumBytes + 2 })
        #expect(found.map(\.number) == [1, 2, 4])
        #expect(found[2].end.bytes == Int64(file.count))
    }

    @Test func `reading goes on where a record has ended`() throws {
        let file = [Self.apple, Self.open, Self.rest, "last"].joined(separator: "\n").bytes
        var all = RegistrationRecords()
        all.append(file)
        all.finish()
        let records = [all.nextRecord(), all.nextRecord()]
        for (record, follows) in zip(records, [2, 4]) {
            let record = try #require(record)
            var again = RegistrationRecords(at: record.end)
            again.append(Array(file.dropFirst(Int(record.end.bytes))))
            again.finish()
            let next = again.nextRecord()
            #expect(next?.number == follows)
        }
        let last = [all.nextRecord(), all.nextRecord()]
        #expect(last[0].map { String(decoding: $0.bytes, as: UTF8.self) } == "last")
        #expect(last[1] == nil)
    }

    // MARK: Lines

    @Test func `a registration is one line, and reads as it was`() throws {
        let registration = Registration(
            id: try RegistrationID("1-2-3"),
            tags: [try Tag("World")],
            platform: .gcm,
            pushChannel: .handle("token"),
            template: RegistrationTemplate(name: "n", body: "{\r\n  \"data\": {\"a\": \"]]>\"}\n}")
        )
        let line = registration.exportLine
        #expect(!line.contains(UInt8(ascii: "\n")) && !line.contains(UInt8(ascii: "\r")))
        #expect(try Registration(description: line) == registration)
        var records = RegistrationRecords()
        records.append(line + [UInt8(ascii: "\n")])
        let record = records.nextRecord()
        #expect(record?.bytes == line)
    }

    @Test func `line ends outside of sections and many sections are references, too`() {
        let xml = "<a>x\ny<![CDATA[\n]]>z\r<![CDATA[]\n]]]>\n</a>"
        let joined = "<a>x&#10;y<![CDATA[]]>&#10;<![CDATA[]]>z&#13;<![CDATA[]]]>&#10;<![CDATA[]]]>&#10;</a>"
        #expect(String(decoding: RegistrationLine.joined(xml.bytes), as: UTF8.self) == joined)
    }

    @Test func `a line that failed has its reason behind it and can be read again`() throws {
        let namespace = "xmlns=\"http://schemas.microsoft.com/netservices/2010/10/servicebus/connect\""
        let apple = Self.apple.replacing(
            "<AppleRegistrationDescription",
            with: "<AppleRegistrationDescription \(namespace)"
        )
        let line = RegistrationLine.failed(apple.bytes, number: 7, reason: "400: a--b ---\nc -")
        let text = String(decoding: line, as: UTF8.self)
        #expect(text == "\(apple)<!-- line 7: 400: a- -b - - - c - -->")
        var records = RegistrationRecords()
        records.append(line + [UInt8(ascii: "\n")])
        let record = records.nextRecord()
        #expect(record?.bytes == line)
        #expect(try Registration(description: Array(text.utf8)).pushChannel == .handle("AB"))
    }

    @Test(arguments: [
        ("<A><RegistrationId>1-2-3</RegistrationId></A>", "1-2-3"),
        ("<x:A><x:RegistrationId> 1-2-3 </x:RegistrationId>", "1-2-3"), ("<GcmRegistrationId>1-2-3</", nil),
        ("<RegistrationId>x</RegistrationId>", nil), ("<RegistrationId/>", nil), ("", nil),
    ])
    func `the id that a line names is found`(line: String, id: String?) {
        #expect(RegistrationLine.statedID(in: line.bytes)?.text == id)
    }

    @Test func `ids of jobs are as the service makes them, the newest first`() {
        // 2020-07-02T18:03:27.575Z, of which a recorded id tells (protocol §8.1).
        let now = Timestamp(milliseconds: 1_593_713_007_575)
        let id = NotificationHubJob.newID(at: now)
        #expect(id.hasPrefix("2518085877924249999") && id.utf8.count == 19 + 36)
        #expect(NotificationHubJob.newID(at: now + .milliseconds(1)) < id)
        #expect(NotificationHubJob.newID(at: now) != id)
    }
}
