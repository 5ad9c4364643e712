package uses;

import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.pulsar.client.api.DeadLetterPolicy;
import org.apache.pulsar.client.api.Message;
import org.apache.pulsar.client.api.RedeliveryBackoff;
import org.apache.pulsar.client.api.SubscriptionType;
import org.apache.pulsar.client.impl.MultiplierRedeliveryBackoff;
import org.apache.pulsar.common.schema.SchemaType;
import org.springframework.context.annotation.Bean;
import org.springframework.messaging.handler.annotation.Header;
import org.springframework.pulsar.annotation.PulsarListener;
import org.springframework.pulsar.annotation.PulsarReader;
import org.springframework.pulsar.core.PulsarTemplate;
import org.springframework.pulsar.listener.AckMode;
import org.springframework.pulsar.listener.Acknowledgement;
import org.springframework.pulsar.listener.DefaultPulsarConsumerErrorHandler;
import org.springframework.pulsar.listener.PulsarConsumerErrorHandler;
import org.springframework.pulsar.listener.PulsarDeadLetterPublishingRecoverer;
import org.springframework.pulsar.support.PulsarHeaders;
import org.springframework.util.backoff.FixedBackOff;

/** One listener or reader for each use; what it is given goes to the queue of that use. */
class Listeners {
    static final String EARLIEST = "subscriptionInitialPosition=Earliest";

    final BlockingQueue<String> text = new LinkedBlockingQueue<>();
    final BlockingQueue<String> json = new LinkedBlockingQueue<>();
    final BlockingQueue<String> batches = new LinkedBlockingQueue<>();
    final BlockingQueue<String> manual = new LinkedBlockingQueue<>();
    final BlockingQueue<String> retried = new LinkedBlockingQueue<>();
    final BlockingQueue<String> dead = new LinkedBlockingQueue<>();
    final BlockingQueue<String> recovered = new LinkedBlockingQueue<>();
    final BlockingQueue<String> shared = new LinkedBlockingQueue<>();
    final BlockingQueue<String> keyed = new LinkedBlockingQueue<>();
    final BlockingQueue<String> failover = new LinkedBlockingQueue<>();
    final BlockingQueue<String> pattern = new LinkedBlockingQueue<>();
    final BlockingQueue<String> headers = new LinkedBlockingQueue<>();
    final BlockingQueue<String> read = new LinkedBlockingQueue<>();
    final BlockingQueue<String> delayed = new LinkedBlockingQueue<>();
    private final AtomicInteger attempts = new AtomicInteger();

    @PulsarListener(subscriptionName = "text", topics = "text", properties = EARLIEST)
    void text(String value) {
        text.add(value);
    }

    @PulsarListener(subscriptionName = "json", topics = "json", schemaType = SchemaType.JSON, properties = EARLIEST)
    void json(Uses.Reading value) {
        json.add(value.place() + " " + value.degrees());
    }

    @PulsarListener(subscriptionName = "batches", topics = "batches", batch = true, properties = EARLIEST)
    void batches(List<String> values) {
        batches.addAll(values);
    }

    @PulsarListener(subscriptionName = "manual", topics = "manual", ackMode = AckMode.MANUAL, properties = EARLIEST)
    void manual(Message<String> message, Acknowledgement acknowledgement) {
        manual.add(message.getValue());
        acknowledgement.acknowledge();
    }

    @PulsarListener(subscriptionName = "retried", topics = "retried", subscriptionType = SubscriptionType.Shared,
            negativeAckRedeliveryBackoff = "backoff", properties = EARLIEST)
    void retried(String value) {
        if (attempts.incrementAndGet() < 3) {
            throw new IllegalStateException("not yet");
        }
        retried.add(value);
    }

    @PulsarListener(subscriptionName = "failing", topics = "failing", subscriptionType = SubscriptionType.Shared,
            negativeAckRedeliveryBackoff = "backoff", deadLetterPolicy = "policy", properties = EARLIEST)
    void failing(String value) {
        throw new IllegalStateException("never");
    }

    @PulsarListener(subscriptionName = "dead", topics = "failing-dead", properties = EARLIEST)
    void dead(String value) {
        dead.add(value);
    }

    @PulsarListener(subscriptionName = "handled", topics = "handled", pulsarConsumerErrorHandler = "errors",
            subscriptionType = SubscriptionType.Shared, properties = EARLIEST)
    void handled(String value) {
        throw new IllegalStateException("never");
    }

    @PulsarListener(subscriptionName = "recovered", topics = "handled-handled-DLT", properties = EARLIEST)
    void recovered(String value) {
        recovered.add(value);
    }

    @PulsarListener(subscriptionName = "shared", topics = "shared", concurrency = "3",
            subscriptionType = SubscriptionType.Shared, properties = EARLIEST)
    void shared(String value) {
        shared.add(value);
    }

    @PulsarListener(subscriptionName = "keyed", topics = "keyed", concurrency = "2",
            subscriptionType = SubscriptionType.Key_Shared, properties = EARLIEST)
    void keyed(Message<String> message) {
        keyed.add(message.getKey() + " " + message.getValue());
    }

    @PulsarListener(subscriptionName = "failover", topics = "partitioned", concurrency = "3",
            subscriptionType = SubscriptionType.Failover, properties = EARLIEST)
    void failover(String value) {
        failover.add(value);
    }

    @PulsarListener(subscriptionName = "pattern", topicPattern = "persistent://public/default/pattern-.*",
            properties = {EARLIEST, "patternAutoDiscoveryPeriod=1"})
    void pattern(String value) {
        pattern.add(value);
    }

    @PulsarListener(subscriptionName = "headers", topics = "headers", properties = EARLIEST)
    void headers(String value, @Header("colour") String colour, @Header(PulsarHeaders.KEY) String key) {
        headers.add(value + " " + colour + " " + key);
    }

    @PulsarListener(subscriptionName = "delayed", topics = "delayed", subscriptionType = SubscriptionType.Shared,
            properties = EARLIEST)
    void delayed(Message<String> message) {
        delayed.add(Long.toString(System.currentTimeMillis() - message.getPublishTime()));
    }

    @PulsarReader(topics = "read", startMessageId = "earliest")
    void read(String value) {
        read.add(value);
    }

    @Bean
    RedeliveryBackoff backoff() {
        return MultiplierRedeliveryBackoff.builder().minDelayMs(200).maxDelayMs(1_000).build();
    }

    @Bean
    DeadLetterPolicy policy() {
        return DeadLetterPolicy.builder().maxRedeliverCount(2).deadLetterTopic("failing-dead").build();
    }

    @Bean
    PulsarConsumerErrorHandler<Object> errors(PulsarTemplate<Object> template) {
        return new DefaultPulsarConsumerErrorHandler<>(
                new PulsarDeadLetterPublishingRecoverer<>(template), new FixedBackOff(200, 2));
    }
}
