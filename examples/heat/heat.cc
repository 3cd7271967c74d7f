// SPDX-License-Identifier: MIT
//
// heat in C++: the same plate in one process, to show regions with classes, templates and exceptions.
// A region is an object of its scope: it ends by return, break or a throw alike.
//
//     g++ -O2 -g -I../../include heat.cc -o heat_cc -pthread
//
// Regions: solve > step > stencil; check (left by an exception when the plate is stable); run (a lambda on two threads).
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <stdexcept>
#include <thread>
#include <vector>

#include "scope_probe.h"

namespace
{
template <typename Real> class Plate
{
  public:
    Plate(int width, int height) : nx(width), ny(height), now(cells()), next(cells())
    {
        for (int x = 0; x < nx; x++)
            now[x] = next[x] = 1;
    }

    void step()
    {
        SP_PROBE(step);
        stencil();
        now.swap(next);
    }

    // Throws when nothing moves any more: the region ends on the way out.
    void check(Real limit) const
    {
        SP_PROBE(check);
        Real most = 0;
        for (std::size_t i = 0; i < now.size(); i++)
            most = std::max(most, std::abs(now[i] - next[i]));
        if (most < limit)
            throw std::runtime_error("stable");
    }

  private:
    std::size_t cells() const { return static_cast<std::size_t>(nx) * ny; }

    void stencil()
    {
        SP_PROBE(stencil);
        for (int y = 1; y < ny - 1; y++)
            for (int x = 1; x < nx - 1; x++) {
                std::size_t i = static_cast<std::size_t>(y) * nx + x;
                next[i] = (now[i - 1] + now[i + 1] + now[i - nx] + now[i + nx]) / 4;
            }
    }

    int nx, ny;
    std::vector<Real> now, next;
};

// Returns the number of steps until the plate was stable, at most `steps`.
template <typename Real> int solve(Plate<Real> &plate, int steps, Real limit)
{
    SP_PROBE(solve);
    for (int i = 1; i <= steps; i++) {
        plate.step();
        try {
            plate.check(limit);
        } catch (const std::runtime_error &) {
            return i;
        }
    }
    return steps;
}
} // namespace

int main(int argc, char **argv)
{
    int steps = argc > 1 ? std::atoi(argv[1]) : 500;
    int done[2] = {0, 0};
    auto run = [steps](int &count) {
        SP_PROBE(run);
        Plate<double> plate(128, 128);
        count = solve(plate, steps, 1e-3);
    };

    std::thread other(run, std::ref(done[1]));
    run(done[0]);
    other.join();
    int all = done[0] + done[1];
    std::printf("{\"rank\":0,\"calls\":{\"run\":2,\"solve\":2,\"step\":%d,\"stencil\":%d,\"check\":%d}}\n", all, all, all);
    return 0;
}
