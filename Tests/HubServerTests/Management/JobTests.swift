import Foundation
import HubProtocol
import HubRouting
import HubStore
import Testing

@testable import HubServer

struct JobTests {
    @Test func `a job is submitted, read and listed as the SDKs do it`() async throws {
        try await TestHub.run(try Scratch()) { hub in
            let body = TestHub.job("ExportRegistrations", output: "https://x.blob.core.windows.net/c?sv=1&amp;sig=%2F")
            let made = try await hub.manage("POST", "/news/jobs?api-version=2017-04", body)
            #expect(made.status == 201)
            let id = try #require(made.jobID)
            #expect(made.headers["content-type"] == "application/atom+xml; type=entry; charset=utf-8")
            #expect(made.headers["location"] == "https://h/news/jobs/\(id)?api-version=2017-04")
            #expect(
                made.body == """
                    <entry xmlns="http://www.w3.org/2005/Atom"><id>https://h/news/jobs/\(id)?api-version=2017-04</id>\
                    <title type="text">\(id)</title><published>2030-03-17T17:46:40Z</published>\
                    <updated>2030-03-17T17:46:40Z</updated><link rel="self" \
                    href="https://h/news/jobs/\(id)?api-version=2017-04"/><content type="application/xml">\
                    <NotificationHubJob xmlns="http://schemas.microsoft.com/netservices/2010/10/servicebus/connect" \
                    xmlns:i="http://www.w3.org/2001/XMLSchema-instance"><JobId>\(id)</JobId>\
                    <Type>ExportRegistrations</Type>\
                    <OutputContainerUri>https://x.blob.core.windows.net/c?sv=1&amp;sig=%2F</OutputContainerUri>\
                    <CreatedAt>2030-03-17T17:46:40Z</CreatedAt><UpdatedAt>2030-03-17T17:46:40Z</UpdatedAt>\
                    </NotificationHubJob></content></entry>
                    """
            )
            let done = try await hub.end(of: id)
            #expect(done.contains("<Progress>100</Progress><Type>ExportRegistrations</Type><Status>Completed</Status>"))
            let path = "\(hub.jobs)/news/\(id)/Output.txt"
            #expect(done.contains("<d3p1:Key>OutputFilePath</d3p1:Key><d3p1:Value>\(path)</d3p1:Value>"), "\(done)")
            #expect(try String(contentsOfFile: path, encoding: .utf8) == "", "there was nothing")
            hub.clock.advance(by: 1)
            let second = try #require(try await hub.manage("POST", "/news/jobs", body).jobID)
            let feed = try await hub.manage("GET", "/news/jobs/?api-version=2017-04")
            #expect(feed.headers["content-type"] == "application/atom+xml; type=feed; charset=utf-8")
            #expect(
                feed.body.hasPrefix("<feed xmlns=\"http://www.w3.org/2005/Atom\"><title type=\"text\">jobs</title>")
            )
            #expect(
                feed.body.components(separatedBy: "<JobId>").dropFirst().map { $0.prefix { $0 != "<" } } == [
                    Substring(second), Substring(id),
                ]
            )
            #expect(try await hub.manage("GET", "/news/jobs/nothing").status == 404)
            #expect(try await hub.manage("GET", "/news/jobs/\(id)", as: hub.listen).status == 401)
            #expect(try await hub.manage("GET", "/news/jobs/\(id)", as: hub.full).status == 200)
        }
    }

    @Test func `what one hub exports another one imports`() async throws {
        try await TestHub.run(try Scratch()) { hub in
            let other = try await hub.make("other", "<RegistrationTtl>P90D</RegistrationTtl>")
            let body = "{\r\n  \"aps\": {\"alert\": \"$(messageParam)\"}\n}"
            try await hub.register("1-1-1", tags: "World,username:alice")
            try await hub.register(
                "2-2-2",
                type: "AppleTemplate",
                tail: "<BodyTemplate><![CDATA[\(body)]]></BodyTemplate><TemplateName>t</TemplateName>"
            )
            let phone = #"{"installationId":"p","platform":"apns","pushChannel":"CD","tags":["Sports"]}"#
            #expect(try await hub.send("PUT", "installations/p", as: hub.listen, phone).status == 200)
            let agent = Agent("a")
            try await hub.register(agent)
            let (exported, text) = try await hub.export()
            #expect(exported.contains("<d3p1:Key>SucceededCount</d3p1:Key><d3p1:Value>3</d3p1:Value>"))
            let lines = text.split(separator: "\n")
            #expect(lines.count == 3, "agents are no registrations of the protocol")
            #expect(lines.contains { $0.contains("$InstallationId:{p},Sports") })

            try hub.write(text, to: "moved/from-azure.txt", at: "other")
            let done = try await hub.work("ImportCreateRegistrations", "moved/from-azure.txt", at: "other")
            #expect(done.contains("<Status>Completed</Status>"), "\(done)")
            #expect(done.contains("<d3p1:Key>FailedCount</d3p1:Key><d3p1:Value>0</d3p1:Value>"))
            for id in ["1-1-1", "2-2-2"] {
                let before = try await hub.hub.registrations.registration(RegistrationID(id)).registration
                let after = try await hub.service.directory.hub(named: "other").registrations.registration(
                    RegistrationID(id)
                )
                var expected = before
                expected.expirationTime = hub.clock.now + 90 * 86_400
                #expect(after.registration == expected)
            }
            let tagged = try await hub.send("GET", "tags/Sports/registrations", at: other).body
            #expect(tagged.components(separatedBy: "<entry").count == 2, "the index has what was imported: \(tagged)")
            let again = try await hub.work("ImportCreateRegistrations", "moved/from-azure.txt", at: "other")
            #expect(again.contains("<d3p1:Key>FailedCount</d3p1:Key><d3p1:Value>3</d3p1:Value>"), "they exist")
        }
    }

    @Test func `the largest installation is imported, and not beside itself`() async throws {
        try await TestHub.run(try Scratch()) { hub in
            _ = try await hub.make("other", "")
            let other = try hub.service.directory.hub(named: "other")
            let tags = (0..<60).map { "\"t\($0)\"" }.joined(separator: ",")
            let value = String(repeating: "&", count: 16_000)
            let phone = #"""
                {"installationId":"p","userId":"ann","platform":"apns","pushChannel":"CD","tags":[\#(tags)],\#
                "pushVariables":{"v":"\#(value)"}}
                """#
            #expect(try await hub.send("PUT", "installations/p", as: hub.listen, phone).status == 200)
            try hub.write(try await hub.export().text, to: "in.txt", at: "other")
            let imported = try await hub.work("ImportCreateRegistrations", "in.txt", at: "other")
            #expect(imported.counts == ["1", "0"], "\(imported)")
            let installation = try Installation(json: Array(phone.utf8), id: InstallationID("p"))
            try await other.installations.put(installation, bytes: 0, grant: hub.manageGrant, channel: nil)
            #expect(try await other.recipients(of: try TagExpression(parsing: "t7"), .apple).total == 1)
            let again = try await hub.work("ImportUpsertRegistrations", "in.txt", at: "other")
            #expect(again.counts == ["0", "1"], "\(again)")
            #expect(try await other.recipients(of: try TagExpression(parsing: "t7"), .apple).total == 1)
        }
    }

    @Test func `the four imports do what their names say, line by line`() async throws {
        try await TestHub.run(try Scratch()) { hub in
            try await hub.register("1-1-1", tags: "old")
            let lines = [
                TestHub.line("1-1-1", tags: "new"), "", "no registration", TestHub.line("7-7-7", tags: "new"),
                TestHub.line(nil, tags: "nameless"), TestHub.line("8-8-8", tags: "bad tag"),
                TestHub.line("9-9-9", tags: "x", expires: "2020-01-01T00:00:00.000Z"),
            ]
            try hub.write(lines.joined(separator: "\r\n"), to: "in.txt")

            let updated = try await hub.work("ImportUpdateRegistrations", "in.txt")
            #expect(updated.counts == ["1", "5"], "\(updated)")
            #expect(try await hub.tags(of: "1-1-1") == ["new"])
            let failed = try hub.failed(updated)
            #expect(failed.count == 5)
            #expect(failed[0] == "no registration<!-- line 3: The line has no RegistrationId. -->")
            #expect(failed[1].hasPrefix(lines[3] + "<!-- line 4: ") && failed[1].contains("not found"))
            #expect(failed[2].contains("line 5: The line has no RegistrationId."))
            #expect(failed[3].contains("<!-- line 6: ") && failed[4].contains("ExpirationTime has passed"))
            let output = try hub.output(updated)
            #expect(output.count == 1 && output[0].contains("<ETag>2</ETag>") && output[0].contains("<Tags>new</Tags>"))

            let upserted = try await hub.work("ImportUpsertRegistrations", "in.txt")
            #expect(upserted.counts == ["3", "3"])
            #expect(try await hub.tags(of: "7-7-7") == ["new"])

            let created = try await hub.work("ImportCreateRegistrations", "in.txt")
            #expect(created.counts == ["1", "5"], "only the one without an id is new")

            let deleted = try await hub.work("ImportDeleteRegistrations", "in.txt")
            #expect(deleted.counts == ["2", "4"])
            #expect(try hub.output(deleted).map { $0.contains("<Tags>new</Tags>") } == [true, true])
            #expect(try await hub.tags(of: "1-1-1") == nil)
            #expect(try await hub.tags(of: "7-7-7") == nil)
            let nameless = try await hub.send("GET", "tags/nameless/registrations", as: hub.full).body
            #expect(nameless.components(separatedBy: "<entry").count == 3)
        }
    }

    @Test func `an installation's registration is not overwritten, and goes with its part of the installation`()
        async throws
    {
        try await TestHub.run(try Scratch()) { hub in
            let phone = #"{"installationId":"p","platform":"apns","pushChannel":"CD"}"#
            #expect(try await hub.send("PUT", "installations/p", as: hub.listen, phone).status == 200)
            let text = try await hub.export().text
            try hub.write(text, to: "in.txt")
            let upserted = try await hub.work("ImportUpsertRegistrations", "in.txt")
            #expect(upserted.counts == ["0", "1"])
            #expect(try hub.failed(upserted)[0].contains("The installation 'p' exists"))
            let deleted = try await hub.work("ImportDeleteRegistrations", "in.txt")
            #expect(deleted.counts == ["1", "0"])
            #expect(try await hub.send("GET", "installations/p", as: hub.listen).status == 404)
        }
    }

    @Test func `what was exported of an installation is deleted line by line, and can be imported again`() async throws
    {
        try await TestHub.run(try Scratch()) { hub in
            let phone = #"""
                {"installationId":"p","platform":"apns","pushChannel":"CD","templates":{"t":{"body":"{}"},"u":{"body":"{}"}}}
                """#
            #expect(try await hub.send("PUT", "installations/p", as: hub.listen, phone).status == 200)
            let text = try await hub.export().text
            try hub.write(text, to: "in.txt")
            let deleted = try await hub.work("ImportDeleteRegistrations", "in.txt")
            #expect(deleted.counts == ["3", "0"], "\(deleted)")
            let ids = try hub.output(deleted).compactMap { RegistrationLine.statedID(in: Array($0.utf8)) }
            #expect(Set(ids).count == 3)
            let created = try await hub.work("ImportCreateRegistrations", "in.txt")
            #expect(created.counts == ["3", "0"], "the operator wants these ids")
            for id in ids {
                #expect(try await hub.send("DELETE", "registrations/\(id)", as: hub.listen).status == 200)
                #expect(try await hub.send("DELETE", "registrations/\(id)", as: hub.listen).status == 404)
            }
        }
    }

    @Test func `a file is named in many ways, and only this hub's`() async throws {
        try await TestHub.run(try Scratch()) { hub in
            _ = try await hub.make("other")
            try hub.write(TestHub.line("1-1-1", tags: "x"), to: "a b.txt")
            try hub.write(TestHub.line("2-2-2", tags: "x"), to: "in.txt", at: "other")
            let folder = "\(hub.jobs)/news"
            for name in [
                "a b.txt", "\(folder)/a b.txt", "file://\(folder)/a%20b.txt", "file:a%20b.txt",
                "file://localhost\(folder)/a%20b.txt", "https://x.blob.core.windows.net/c/d/a%20b.txt?sv=1&amp;sig=a/b",
            ] {
                let done = try await hub.work("ImportUpsertRegistrations", name)
                #expect(done.counts == ["1", "0"], "\(name): \(done)")
            }
            for name in [
                "../other/in.txt", "/etc/passwd", "\(folder)/../other/in.txt", "file:///etc/passwd", "a/./b", "a//b",
                "file://elsewhere\(folder)/in.txt", "\(hub.jobs)/other/in.txt", "ftp://h/in.txt", "https://h/..", "..",
                "file:%2e%2e/other/in.txt", "https://h/%2e%2e%2fother%2fin.txt", "in%00.txt",
            ] {
                let body = TestHub.job("ImportUpsertRegistrations", file: name)
                let reply = try await hub.manage("POST", "/news/jobs", body)
                // A name that needs decoding may be one of a file that is not there.
                if reply.status == 201 {
                    let done = try await hub.end(of: try #require(reply.jobID))
                    #expect(done.contains("<Status>Failed</Status>") && name == "in%00.txt", "\(name)")
                } else {
                    #expect(reply.status == 400, "\(name)")
                    #expect(reply.error?.detail.contains("put the file into '\(folder)'") == true, "\(reply.body)")
                }
            }
            try FileManager.default.createSymbolicLink(
                atPath: "\(folder)/link.txt",
                withDestinationPath: "../other/in.txt"
            )
            let linked = try await hub.work("ImportUpsertRegistrations", "link.txt")
            #expect(linked.contains("<Status>Failed</Status>") && linked.contains("it is a symbolic link"))
            #expect(try await hub.tags(of: "2-2-2") == nil)
            let missing = try await hub.work("ImportUpsertRegistrations", "missing.txt")
            #expect(
                missing.contains("<Failure>There is no file '\(folder)/missing.txt'; this hub imports"),
                "\(missing)"
            )
        }
    }

    @Test func `a hub's jobs are its own, and go with it`() async throws {
        try await TestHub.run(try Scratch()) { hub in
            let other = try await hub.make("other")
            try hub.write("", to: "mine.txt", at: "other")
            let id = try #require(try await hub.manage("POST", "/other/jobs", TestHub.job("ExportRegistrations")).jobID)
            _ = try await hub.end(of: id, at: "other")
            #expect(try await hub.send("GET", "jobs/\(id)", at: other).status == 200)
            #expect(try await hub.manage("GET", "/news/jobs/\(id)").status == 404)
            #expect(!(try await hub.manage("GET", "/news/jobs").body.contains(id)))
            #expect(FileManager.default.fileExists(atPath: "\(hub.jobs)/other/\(id)/Output.txt"))
            #expect(try await hub.manage("DELETE", "/other").status == 200)
            try await hub.service.hubPurge.purge()
            let left = try FileManager.default.subpathsOfDirectory(atPath: "\(hub.jobs)/other")
            #expect(left == ["mine.txt"], "what was put there is not the hub's to remove")
            let again = try await hub.make("other")
            #expect(!(try await hub.send("GET", "jobs", at: again).body.contains("<JobId>")))
        }
    }

    @Test func `a disabled hub can be exported`() async throws {
        try await TestHub.run(try Scratch()) { hub in
            try await hub.register("1-1-1", tags: "x")
            let body = TestHub.entry("<Status>true</Status>")
            #expect(try await hub.manage("PUT", "/news", headers: ["If-Match": "*"], body).status == 200)
            #expect(try await hub.export().text.contains("1-1-1"))
        }
    }

    // MARK: Bounds

    @Test func `only so many jobs wait, and only so many are remembered`() async throws {
        try await TestHub.run(try Scratch()) { hub in
            let id = hub.hub.record.id
            func insert(_ count: Int, _ status: NotificationHubJob.Status, from first: Int64) async throws {
                let jobs = (0..<count).map { number in
                    let at = Timestamp(milliseconds: first + Int64(number))
                    return StoredJob(
                        hub: id,
                        job: NotificationHubJob(
                            id: NotificationHubJob.newID(at: at),
                            request: .init(kind: .exportRegistrations, outputContainerURI: "c"),
                            status: status,
                            createdAt: at,
                            updatedAt: at
                        )
                    )
                }
                let insertion: @Sendable (Transaction) throws -> Void = { transaction in
                    for job in jobs { try transaction.insert(job) }
                }
                for result in try await hub.hub.store.commit([insertion]) { try result.get() }
            }
            try await insert(JobService.maximumKept, .completed, from: 1_000)
            let oldest = try #require(try await hub.hub.store.jobs(hub: id, limit: 1_000).last?.job.id)
            try hub.write("exported", to: "\(oldest)/Output.txt")
            let made = try await hub.manage("POST", "/news/jobs", TestHub.job("ExportRegistrations"))
            #expect(made.status == 201)
            #expect(try await hub.hub.store.job(hub: id, id: oldest) == nil)
            #expect(!FileManager.default.fileExists(atPath: "\(hub.jobs)/news/\(oldest)"))
            _ = try await hub.end(of: try #require(made.jobID))
            try await insert(JobService.maximumWaiting, .started, from: 1_000_000)
            let refused = try await hub.manage("POST", "/news/jobs", TestHub.job("ExportRegistrations"))
            #expect(refused.status == 429)
            #expect(refused.headers["retry-after"] != nil)
            #expect(refused.error?.detail.contains("maximum of 16 unfinished jobs") == true)
        }
    }

    @Test func `one transaction takes so many records, and fewer of large ones`() throws {
        func taken(_ bytes: Int) throws -> Int {
            var records = RegistrationRecords(at: RegistrationRecords.Position())
            records.append(Array(repeating: UInt8(ascii: "x"), count: bytes) + [UInt8(ascii: "\n")])
            let next = records.nextRecord()
            let record = try #require(next)
            var chunk = ImportChunk(JobRun.importLimits)
            while !chunk.isFull { chunk.append(record) }
            return chunk.records.count
        }
        #expect(try taken(100) == 200)
        #expect(try taken(64 << 10) == 4)
    }

    // MARK: Interruptions

    @Test func `an import that a stop interrupts goes on and does each line once`() async throws {
        let scratch = try Scratch()
        let count = 4_000
        let lines = (1...count).map { TestHub.line("\($0)-1-1", tags: "t\($0 % 7)") }
        let id = try await TestHub.run(scratch) { hub in
            try hub.write(lines.joined(separator: "\n"), to: "in.txt")
            let body = TestHub.job("ImportCreateRegistrations", file: "in.txt")
            let id = try #require(try await hub.manage("POST", "/news/jobs", body).jobID)
            try await hub.wait {
                try await hub.hub.store.job(hub: hub.hub.record.id, id: id)?.job.progress ?? 0 > 0
            }
            return id
        }
        let (job, checkpoint) = try await interrupted(scratch, id)
        #expect(job.status == .running && (1...9_999).contains(job.progress), "\(job.progress)")
        // As if a write had reached the disk that nothing was committed for.
        let output = try #require(job.outputProperties[NotificationHubJob.outputFilePath])
        let handle = try #require(FileHandle(forWritingAtPath: output))
        try handle.seekToEnd()
        try handle.write(contentsOf: Data("half a li".utf8))
        try handle.close()
        #expect(checkpoint.position.lines < count)
        try await TestHub.run(scratch) { hub in
            let done = try await hub.end(of: id)
            #expect(done.counts == ["\(count)", "0"], "\(done)")
            let written = try hub.output(done)
            #expect(written.count == count)
            #expect(Set(written.compactMap { RegistrationLine.statedID(in: Array($0.utf8))?.text }).count == count)
            #expect(hub.hub.exportableCount == count)
            #expect(try await hub.tags(of: "\(count)-1-1") == ["t\(count % 7)"])
        }
    }

    @Test func `an export that a stop interrupts goes on where it was`() async throws {
        let scratch = try Scratch()
        let count = 1_200
        let id = try await TestHub.run(scratch) { hub in
            try hub.write(
                (1...count).map { TestHub.line("\($0)-1-1", tags: "x") }.joined(separator: "\n"),
                to: "in.txt"
            )
            #expect(try await hub.work("ImportCreateRegistrations", "in.txt").counts == ["\(count)", "0"])
            let (done, text) = try await hub.export()
            // As it was after the first page, with more on the disk.
            let page = try await hub.hub.store.registrations(hub: hub.hub.record.id, after: nil, limit: 500)
            let id = try #require(done.jobID)
            var stored = try #require(try await hub.hub.store.job(hub: hub.hub.record.id, id: id))
            var checkpoint = JobCheckpoint()
            checkpoint.after = page.next
            checkpoint.total = count
            checkpoint.output.lines = 500
            let first = text.split(separator: "\n", omittingEmptySubsequences: false).prefix(500)
            checkpoint.output.length = Int64(first.joined(separator: "\n").utf8.count + 1)
            stored.job.status = .running
            stored.checkpoint = try checkpoint.text
            let wanted = stored
            try await scratch.damage("UPDATE job SET status = 'Running'")
            let change: @Sendable (Transaction) throws -> Bool = { try $0.update(wanted) }
            for result in try await hub.hub.store.commit([change]) { #expect(try result.get()) }
            return id
        }
        try await TestHub.run(scratch) { hub in
            let done = try await hub.end(of: id)
            #expect(done.contains("<d3p1:Key>SucceededCount</d3p1:Key><d3p1:Value>\(count)</d3p1:Value>"))
            let ids = try hub.output(done).compactMap { RegistrationLine.statedID(in: Array($0.utf8))?.text }
            #expect(ids.count == count && Set(ids).count == count)
        }
    }

    @Test func `an import whose file has changed since fails and says how far it was`() async throws {
        let scratch = try Scratch()
        let lines = (1...4_000).map { TestHub.line("\($0)-1-1", tags: "x") }
        let id = try await TestHub.run(scratch) { hub in
            try hub.write(lines.joined(separator: "\n"), to: "in.txt")
            let body = TestHub.job("ImportCreateRegistrations", file: "in.txt")
            let id = try #require(try await hub.manage("POST", "/news/jobs", body).jobID)
            try await hub.wait {
                try await hub.hub.store.job(hub: hub.hub.record.id, id: id)?.job.progress ?? 0 > 0
            }
            return id
        }
        let checkpoint = try await interrupted(scratch, id).checkpoint
        try "something else".write(toFile: "\(scratch.folder)/jobs/news/in.txt", atomically: false, encoding: .utf8)
        try await TestHub.run(scratch) { hub in
            let done = try await hub.end(of: id)
            #expect(done.contains("<Status>Failed</Status>"))
            #expect(done.contains("changed during the import."), "\(done)")
            #expect(done.contains("The first \(checkpoint.position.lines) lines were processed."), "\(done)")
        }
    }

    @Test func `an import that another node has failed meanwhile goes no further`() async throws {
        try await TestHub.run(try Scratch()) { hub in
            let count = 10_000
            let lines = (1...count).map { TestHub.line("\($0)-1-1", tags: "x") }
            try hub.write(lines.joined(separator: "\n"), to: "in.txt")
            let body = TestHub.job("ImportCreateRegistrations", file: "in.txt")
            let id = try #require(try await hub.manage("POST", "/news/jobs", body).jobID)
            let key = hub.hub.record.id
            try await hub.wait { try await hub.hub.store.job(hub: key, id: id)?.job.progress ?? 0 > 0 }
            var job = try #require(try await hub.hub.store.job(hub: key, id: id))
            job.job.status = .failed
            job.job.failure = "it is gone"
            let isFailed = try await hub.hub.perform { [job] transaction, _ in (try transaction.update(job), []) }
            #expect(isFailed)
            // Jobs run one after the other.
            let exported = try await hub.export()
            #expect(exported.entry.contains("<Status>Completed</Status>"))
            let written = exported.text.split(separator: "\n").count
            #expect((1..<count).contains(written))
            #expect(hub.hub.exportableCount == written)
            #expect(try await hub.manage("GET", "/news/jobs/\(id)").body.contains("it is gone"))
        }
    }

    @Test func `a job whose place cannot be read fails, and does nothing twice`() async throws {
        let scratch = try Scratch()
        let id = try await TestHub.run(scratch) { hub in
            try hub.write(TestHub.line("1-1-1", tags: "x"), to: "in.txt")
            let done = try await hub.work("ImportCreateRegistrations", "in.txt")
            #expect(done.counts == ["1", "0"])
            return try #require(done.jobID)
        }
        try await scratch.damage("UPDATE job SET status = 'Running', progress = 5, checkpoint = '{\"new\":1}'")
        try await TestHub.run(scratch) { hub in
            let done = try await hub.end(of: id)
            #expect(done.contains("<Status>Failed</Status>"), "\(done)")
            #expect(done.contains("cannot read the job's progress"), "\(done)")
            #expect(try hub.output(done).count == 1, "what was done stands in its file")
        }
    }

    @Test func `a job that fails while its hub is deleted is nobody's failure`() async throws {
        let scratch = try Scratch()
        try await TestHub.run(scratch) { test in
            _ = try await test.make("other")
            let hub = try test.service.directory.hub(named: "other")
            let at = Timestamp(milliseconds: 1)
            let job = NotificationHubJob(
                id: NotificationHubJob.newID(at: at),
                request: .init(kind: .importCreateRegistrations, outputContainerURI: "c", importFileURI: "missing"),
                createdAt: at,
                updatedAt: at
            )
            let files = JobFiles(hub.configuration.jobsFolder, hub: hub.record.name)
            #expect(try await test.manage("DELETE", "/other").status == 200)
            var run = JobRun(hub: hub, files: files, stored: StoredJob(hub: hub.record.id, job: job))
            try await run.run()
            #expect(hub.isDeleted)
        }
    }

    private func interrupted(_ scratch: Scratch, _ id: String) async throws -> (
        job: NotificationHubJob, checkpoint: JobCheckpoint
    ) {
        let store = try HubStore(path: scratch.path)
        let hub = try #require(try await store.hubs().first)
        let stored = try #require(try await store.job(hub: hub.id, id: id))
        let checkpoint = try JobCheckpoint(text: stored.checkpoint)
        try store.close()
        return (stored.job, checkpoint)
    }
}

// MARK: - Jobs of a test hub

extension TestHub {
    var jobs: String { hub.configuration.jobsFolder }

    static func job(_ type: String, file: String? = nil, output: String = "https://c/") -> String {
        """
        <?xml version="1.0" encoding="utf-8"?><entry xmlns="http://www.w3.org/2005/Atom"><content \
        type="application/atom+xml;type=entry;charset=utf-8"><NotificationHubJob \
        xmlns:i="http://www.w3.org/2001/XMLSchema-instance" \
        xmlns="http://schemas.microsoft.com/netservices/2010/10/servicebus/connect"><Type>\(type)</Type>\
        <OutputContainerUri>\(output)</OutputContainerUri>\(file.map { "<ImportFileUri>\($0)</ImportFileUri>" } ?? "")\
        </NotificationHubJob></content></entry>
        """
    }

    /// A line as the service exports it.
    static func line(_ id: String?, tags: String, expires: String = "9999-12-31T23:59:59.999Z") -> String {
        """
        <AppleRegistrationDescription xmlns:i="http://www.w3.org/2001/XMLSchema-instance" \
        xmlns="http://schemas.microsoft.com/netservices/2010/10/servicebus/connect"><ETag>3</ETag>\
        <ExpirationTime>\(expires)</ExpirationTime>\(id.map { "<RegistrationId>\($0)</RegistrationId>" } ?? "")\
        <Tags>\(tags)</Tags><DeviceToken>AB12</DeviceToken></AppleRegistrationDescription>
        """
    }

    fileprivate func write(_ text: String, to name: String, at hub: String = "news") throws {
        let file = URL(filePath: "\(jobs)/\(hub)/\(name)")
        try FileManager.default.createDirectory(at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
        try text.write(to: file, atomically: true, encoding: .utf8)
    }

    fileprivate func register(
        _ id: String,
        type: String = "Apple",
        tags: String = "",
        tail: String = ""
    ) async throws {
        let body = """
            <entry xmlns="http://www.w3.org/2005/Atom"><content type="application/xml"><\(type)RegistrationDescription \
            xmlns="http://schemas.microsoft.com/netservices/2010/10/servicebus/connect"><Tags>\(tags)</Tags>\
            <DeviceToken>AB</DeviceToken>\(tail)</\(type)RegistrationDescription></content></entry>
            """
        let reply = try await send("PUT", "registrations/\(id)", as: full, body)
        guard reply.status == 200 else { throw Unanswered(request: id, bytes: reply.body) }
    }

    fileprivate func tags(of id: String) async throws -> [String]? {
        let id = try RegistrationID(id)
        return try await hub.store.registration(hub: hub.record.id, id: id)?.registration.tags.map(\.text)
    }

    /// The entry of a job when it is over.
    fileprivate func end(of id: String, at hub: String = "news") async throws -> String {
        var entry = ""
        try await wait {
            entry = try await manage("GET", "/\(hub)/jobs/\(id)").body
            return entry.contains("<Status>Completed</Status>") || entry.contains("<Status>Failed</Status>")
        }
        return entry
    }

    fileprivate func work(_ type: String, _ file: String, at hub: String = "news") async throws -> String {
        let reply = try await manage("POST", "/\(hub)/jobs", Self.job(type, file: file))
        guard reply.status == 201, let id = reply.jobID else { throw Unanswered(request: file, bytes: reply.body) }
        return try await end(of: id, at: hub)
    }

    fileprivate func export() async throws -> (entry: String, text: String) {
        let reply = try await manage("POST", "/news/jobs", Self.job("ExportRegistrations"))
        guard let id = reply.jobID else { throw Unanswered(request: "export", bytes: reply.body) }
        let entry = try await end(of: id)
        return (entry, try String(contentsOfFile: "\(jobs)/news/\(id)/Output.txt", encoding: .utf8))
    }

    fileprivate func output(_ entry: String) throws -> [String] { try file("Output.txt", of: entry) }
    fileprivate func failed(_ entry: String) throws -> [String] { try file("Failed.txt", of: entry) }

    private func file(_ name: String, of entry: String) throws -> [String] {
        let path = "\(jobs)/news/\(entry.jobID ?? "")/\(name)"
        return try String(contentsOfFile: path, encoding: .utf8).split(separator: "\n").map(String.init)
    }
}

extension Reply {
    fileprivate var jobID: String? { body.jobID }
}

extension String {
    fileprivate var jobID: String? { element("JobId") }

    /// Lines that were imported and that failed, as the job tells.
    fileprivate var counts: [String] {
        ["SucceededCount", "FailedCount"].map { key in
            components(separatedBy: "<d3p1:Key>\(key)</d3p1:Key><d3p1:Value>").dropFirst().first
                .map { String($0.prefix { $0 != "<" }) } ?? "?"
        }
    }

    private func element(_ name: String) -> String? {
        components(separatedBy: "<\(name)>").dropFirst().first.map { String($0.prefix { $0 != "<" }) }
    }
}
