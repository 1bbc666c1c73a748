import Foundation
import HostSystem
import HubTestServer
import Testing

@testable import FeedPublisher

@Suite struct PublisherLockTests {
    @Test func `a second publisher ends silently when nobody looks, else with one line`() throws {
        let folder = try ScratchFolder()
        let path = folder.file("publish.lock")
        guard case .acquired(let lock) = try PublisherLock.acquire(path, isWatched: false) else {
            Issue.record("the first publisher did not get the lock")
            return
        }
        guard case .busy(.done, nil) = try PublisherLock.acquire(path, isWatched: false) else {
            Issue.record("the second one was not silent")
            return
        }
        guard case .busy(.tryLater, let line?) = try PublisherLock.acquire(path, isWatched: true) else {
            Issue.record("the second one said nothing to a person")
            return
        }
        #expect(line.text.contains("another publisher is running"))
        let old = Date(timeIntervalSinceNow: -3_600)
        try FileManager.default.setAttributes([.modificationDate: old], ofItemAtPath: path)
        guard case .busy(.tryLater, let late?) = try PublisherLock.acquire(path, isWatched: false) else {
            Issue.record("a holder of an hour is worth a line")
            return
        }
        #expect(late.text.contains("for 60 min"))
        lock.close()
        guard case .acquired = try PublisherLock.acquire(path, isWatched: false) else {
            Issue.record("the lock was not free again")
            return
        }
    }
}
