// The scenario of ns3.rs under ns-3's traffic control: CBR flows of UDP through a queue disc of its
// own onto a point-to-point link. Packets are given to the traffic control layer, without sockets
// and without an IP stack at the receiver, which leaves ns-3 less to do than its users mostly ask.
//
// ns3 QUEUE_DISC FLOWS PACKETS prints packets that arrived, and the processor's seconds.

#include <cstdlib>
#include <ctime>
#include <iostream>
#include <vector>

#include "ns3/core-module.h"
#include "ns3/internet-module.h"
#include "ns3/network-module.h"
#include "ns3/point-to-point-module.h"
#include "ns3/traffic-control-module.h"

using namespace ns3;

namespace
{

constexpr uint64_t LINK_BPS = 100'000'000'000;
constexpr uint32_t UDP_PAYLOAD_BYTES = 1472;
// What the simulator's frames take: 1538 bytes. PPP's header has 2, UDP's and IP's 28.
constexpr uint32_t PADDING_BYTES = 1538 - UDP_PAYLOAD_BYTES - 28 - 2;
constexpr uint64_t FRAME_BITS = 1538 * 8;
constexpr uint8_t UDP = 17;

Ptr<TrafficControlLayer> control;
Ptr<NetDevice> device;
uint64_t arrived = 0;

struct Flow
{
    Ipv4Header ip;
    UdpHeader udp;
    double gapNs;
    double dueNs;
};

std::vector<Flow> flows;

void
Send(uint32_t at)
{
    Flow& flow = flows[at];
    Ptr<Packet> packet = Create<Packet>(UDP_PAYLOAD_BYTES + PADDING_BYTES);
    packet->AddHeader(flow.udp);
    control->Send(device,
                  Create<Ipv4QueueDiscItem>(packet,
                                            device->GetBroadcast(),
                                            Ipv4L3Protocol::PROT_NUMBER,
                                            flow.ip));
    flow.dueNs += flow.gapNs;
    Simulator::Schedule(NanoSeconds(static_cast<uint64_t>(flow.dueNs)) - Simulator::Now(), &Send, at);
}

bool
Arrive(Ptr<NetDevice>, Ptr<const Packet>, uint16_t, const Address&)
{
    arrived++;
    return true;
}

double
ProcessorSeconds()
{
    timespec time;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) / 1e9;
}

} // namespace

int
main(int argc, char** argv)
{
    if (argc != 4)
    {
        std::cerr << "usage: ns3 QUEUE_DISC FLOWS PACKETS\n";
        return 2;
    }
    const uint32_t count = std::atoi(argv[2]);
    const uint64_t packets = std::atoll(argv[3]);

    NodeContainer nodes;
    nodes.Create(2);
    PointToPointHelper link;
    link.SetDeviceAttribute("DataRate", DataRateValue(DataRate(LINK_BPS)));
    // Two frames, as the simulator's device takes.
    link.SetQueue("ns3::DropTailQueue", "MaxSize", StringValue("2p"));
    NetDeviceContainer devices = link.Install(nodes);
    device = devices.Get(0);
    devices.Get(1)->SetReceiveCallback(MakeCallback(&Arrive));

    control = CreateObject<TrafficControlLayer>();
    nodes.Get(0)->AggregateObject(control);
    TrafficControlHelper helper;
    helper.SetRootQueueDisc(argv[1]);
    helper.Install(device);

    const uint64_t flowBps = LINK_BPS / 10 * 9 / count;
    for (uint32_t at = 0; at < count; at++)
    {
        Flow flow;
        flow.ip.SetSource(Ipv4Address("192.0.2.1"));
        flow.ip.SetDestination(Ipv4Address(0x0a000000 + at));
        flow.ip.SetProtocol(UDP);
        flow.ip.SetTtl(64);
        flow.ip.SetPayloadSize(UDP_PAYLOAD_BYTES + PADDING_BYTES + 8);
        flow.udp.SetSourcePort(32768);
        flow.udp.SetDestinationPort(5201);
        flow.gapNs = static_cast<double>(FRAME_BITS) * 1e9 / static_cast<double>(flowBps);
        // Spread over the first distance.
        flow.dueNs = flow.gapNs * at / count;
        flows.push_back(flow);
    }
    for (uint32_t at = 0; at < count; at++)
    {
        Simulator::Schedule(NanoSeconds(static_cast<uint64_t>(flows[at].dueNs)), &Send, at);
    }
    const uint64_t durationNs = packets * FRAME_BITS / (LINK_BPS / 10 * 9 / 1'000'000'000);
    Simulator::Stop(NanoSeconds(durationNs));
    const double began = ProcessorSeconds();
    Simulator::Run();
    std::cout << arrived << " " << ProcessorSeconds() - began << "\n";
    Simulator::Destroy();
    return 0;
}
