import NocturneInference

/// For each model the session of the last input shape: the photos of one camera have one shape. The inference stage
/// owns them.
final class PhotoInstancesSessions {
    private struct Held {
        let shape: [Int]
        let width: Int
        let session: any NetworkSession
    }

    private var held: [String: Held] = [:]

    func session(of model: String, shape: [Int], width: Int, _ make: () throws -> any NetworkSession) throws
        -> any NetworkSession
    {
        if let held = held[model], held.shape == shape, held.width >= width { return held.session }
        // The previous session is freed first, so there is never more than one.
        held[model] = nil
        let session = try make()
        held[model] = Held(shape: shape, width: width, session: session)
        return session
    }
}
