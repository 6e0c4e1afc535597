import NocturneCore
import NocturneMesh

/// The measures of a triangle surface, and its edges: whether it is closed, and of which shape.
///
/// Triangles that refer to a vertex that does not exist are omitted, and the surface then counts as not closed.
struct MeshFacts: Hashable {
    let signedVolume: Double
    let area: Double
    /// Vertices that a triangle uses.
    let vertexCount: Int
    /// Edges, each counted once however many triangles share it.
    let edgeCount: Int
    /// Triangles whose vertices exist.
    let triangleCount: Int
    /// Vertices that a triangle uses, minus edges, plus triangles: 2 for each sphere, 0 for each torus.
    let eulerCharacteristic: Int
    /// Whether every edge is shared by exactly two triangles that run along it in opposite directions. An empty mesh is
    /// not a surface: false.
    let isClosedManifold: Bool

    init(of mesh: SurfaceMesh) {
        let measures = mesh.measures
        (signedVolume, area) = (measures.signedVolume, measures.area)
        let count = UInt32(clamping: mesh.vertices.count)
        let triangles = mesh.triangles.filter { $0.x < count && $0.y < count && $0.z < count }
        let edges = EdgeCounter(vertexCount: mesh.vertices.count, triangles: triangles)
        vertexCount = edges.usedVertices
        edgeCount = edges.edges
        triangleCount = triangles.count
        eulerCharacteristic = edges.usedVertices - edges.edges + triangles.count
        isClosedManifold = !triangles.isEmpty && triangles.count == mesh.triangles.count && edges.everyEdgeHasOpposite
    }

    /// Counts the edges of triangles and searches for the opposite edge of each.
    fileprivate struct EdgeCounter {
        private(set) var usedVertices = 0
        private(set) var edges = 0
        private(set) var everyEdgeHasOpposite = true

        init(vertexCount: Int, triangles: [SIMD3<UInt32>]) {
            var starts = [Int](repeating: 0, count: vertexCount + 1)
            for triangle in triangles {
                for corner in 0..<3 { starts[Int(triangle[corner]) + 1] += 1 }
            }
            for vertex in 0..<vertexCount {
                if starts[vertex + 1] > 0 { usedVertices += 1 }
                starts[vertex + 1] += starts[vertex]
            }
            // A vertex has as many incoming as outgoing edges, one of each per corner, so the lists share their start
            // offsets. Each pass reads the lists of the previous one in ascending order, which leaves its own lists sorted.
            let unsorted = Self.lists(starts) { add in
                for triangle in triangles {
                    for corner in 0..<3 { add(triangle[(corner + 1) % 3], triangle[corner]) }
                }
            }
            let out = Self.lists(starts) { Self.reverse(unsorted, starts, $0) }
            let back = Self.lists(starts) { Self.reverse(out, starts, $0) }
            for vertex in 0..<vertexCount {
                compare(out[starts[vertex]..<starts[vertex + 1]], back[starts[vertex]..<starts[vertex + 1]], vertex)
            }
        }

        /// Fills one list per vertex with the values that `walk` adds.
        private static func lists(
            _ starts: [Int],
            _ walk: (_ add: (_ vertex: UInt32, _ element: UInt32) -> Void) -> Void
        ) -> [UInt32] {
            var next = starts
            var elements = [UInt32](repeating: 0, count: starts.last ?? 0)
            walk { vertex, element in
                elements[next[Int(vertex)]] = element
                next[Int(vertex)] += 1
            }
            return elements
        }

        private static func reverse(_ lists: [UInt32], _ starts: [Int], _ add: (UInt32, UInt32) -> Void) {
            for vertex in 0..<starts.count - 1 {
                for place in starts[vertex]..<starts[vertex + 1] { add(lists[place], UInt32(vertex)) }
            }
        }

        /// Compares the ends of a vertex's outgoing and incoming edges: on a closed surface both lists are equal, without
        /// repeats.
        private mutating func compare(_ out: ArraySlice<UInt32>, _ back: ArraySlice<UInt32>, _ vertex: Int) {
            var (a, b) = (out.startIndex, back.startIndex)
            while a < out.endIndex || b < back.endIndex {
                let other = min(a < out.endIndex ? out[a] : .max, b < back.endIndex ? back[b] : .max)
                var (leaving, arriving) = (0, 0)
                while a < out.endIndex, out[a] == other { (a, leaving) = (a + 1, leaving + 1) }
                while b < back.endIndex, back[b] == other { (b, arriving) = (b + 1, arriving + 1) }
                if leaving != 1 || arriving != 1 || Int(other) == vertex { everyEdgeHasOpposite = false }
                // Each edge is found at both ends; it is counted at the smaller one.
                if Int(other) > vertex { edges += 1 }
            }
        }
    }
}
