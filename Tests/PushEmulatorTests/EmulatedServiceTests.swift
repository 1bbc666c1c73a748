import HubProtocol
import PushEmulator
import Testing

@Suite struct EmulatedServiceTests {
    @Test(arguments: EmulatedService.allCases) func eachServiceReachesAKnownPlatform(service: EmulatedService) {
        #expect(service.platform.isKnown)
    }
}
