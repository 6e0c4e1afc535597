import NocturneInference

/// For each model the session of the last input shape: the photos of one camera have one shape. The inference stage
/// owns them.
final class PhotoInstancesSessions {
    private struct CachedSession {
        let shape: [Int]
        let width: Int
        let session: any NetworkSession
    }

    private var cached: [String: CachedSession] = [:]

    func session(of model: String, shape: [Int], width: Int, _ make: () throws -> any NetworkSession) throws
        -> any NetworkSession
    {
        if let cached = cached[model], cached.shape == shape, cached.width >= width { return cached.session }
        // The previous session is freed first, so there is never more than one.
        cached[model] = nil
        let session = try make()
        cached[model] = CachedSession(shape: shape, width: width, session: session)
        return session
    }
}
